"""Your own spreadsheet and photographs as records."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="table",
    about="Your spreadsheet and photographs",
    options={"curate --table": "lmod_train.extensions.table.command:curate_table"},
    phantoms={"clinic": "lmod_train.extensions.table.phantom"},
)
