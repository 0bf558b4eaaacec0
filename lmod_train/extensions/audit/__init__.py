"""What of the images of a curated folder a model's preprocessing leaves, measured and shown."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="audit",
    about="How much of an image a model sees",
    commands={"audit": "lmod_train.extensions.audit.command:audit"},
)
