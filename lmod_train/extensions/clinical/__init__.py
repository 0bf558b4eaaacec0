"""What a clinic asks of a classifier: operating points, calibration, net benefit, and differences between groups."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="clinical",
    about="Operating points, recalibration, decision curves and fairness",
    sections={
        "lmod_train.extensions.clinical.operating.OperatingPoints": "Likelihoods",
        "lmod_train.extensions.clinical.recalibration.Recalibration": "OperatingPoints",
        "lmod_train.extensions.clinical.decision.DecisionCurves": "Recalibration OperatingPoints",
        "lmod_train.extensions.clinical.fairness.SubgroupFairness": "Subsets",
    },
)
