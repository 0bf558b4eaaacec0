"""What a clinic asks of a classifier: operating points, net benefit, and differences between groups of patients."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="clinical",
    about="Operating points, decision curves and fairness",
    sections={
        "lmod_train.extensions.clinical.operating.OperatingPoints": "Likelihoods",
        "lmod_train.extensions.clinical.decision.DecisionCurves": "OperatingPoints",
        "lmod_train.extensions.clinical.fairness.SubgroupFairness": "Subsets",
    },
)
