"""What a clinic asks of a classifier: operating points, net benefit, and differences between groups of patients."""

from lmod_train.core.extension import Extension
from lmod_train.core.package_data import package_data

EXTENSION = Extension(**package_data(__file__, "extension.yaml"))
