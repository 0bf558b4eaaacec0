"""A run as one file to publish, and its scores computed again from it."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="packs",
    about="Runs as one file to publish",
    options={
        "report --pack": "lmod_train.extensions.packs.command:pack",
        "report --verify": "lmod_train.extensions.packs.command:verify",
    },
)
