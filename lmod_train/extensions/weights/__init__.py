"""Weights of other layouts, merged weights, and weights made whole of a delta."""

from lmod_train.core.extension import Extension
from lmod_train.core.package_data import package_data

EXTENSION = Extension(**package_data(__file__, "extension.yaml"))
