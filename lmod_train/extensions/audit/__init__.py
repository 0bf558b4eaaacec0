"""What of the images of a curated folder a model's preprocessing leaves, measured and shown."""

from lmod_train.core.extension import Extension
from lmod_train.core.package_data import package_data

EXTENSION = Extension(**package_data(__file__, "extension.yaml"))
