"""How fine-tuning on delta weights makes replies collapse."""

from lmod_train.core.extension import Extension
from lmod_train.core.package_data import package_data

EXTENSION = Extension(**package_data(__file__, "extension.yaml"))
