"""Your own spreadsheet and photographs, and sets of questions of others, as records."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="table",
    about="Your spreadsheet and photographs, and sets of questions",
    commands={"import": "lmod_train.extensions.table.command:import_"},
    options={"curate --table": "lmod_train.extensions.table.command:curate_table"},
    phantoms={"clinic": "lmod_train.extensions.table.phantom"},
)
