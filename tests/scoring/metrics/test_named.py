import pytest
import torch

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Box, Region, Unparsed
from lmod_train.scoring.metrics.named import (
    Accuracy,
    HallucinationResistance,
    NamedMetric,
    RegionF1,
    RejectionRate,
    Sensitivity,
    Specificity,
)
from tests.scoring.make import prediction
from tests.scoring.metrics.score_functions import anatomy, binary

YES_NO = [("yes", "yes"), ("no", "yes"), ("no", "no"), ("no", "no"), (Unparsed("refused"), "no")]
BINARY = [prediction(str(i), answer, truth) for i, (answer, truth) in enumerate(YES_NO)]
EYE = tuple(Region(name, Box(0, 0, 9, 9), i) for i, name in enumerate(("optic disc", "optic cup"), 1))
REGIONS = [
    prediction("a", {1: "optic disc", 2: "optic disc", 3: "optic cup"}, regions=EYE),
    prediction("b", {1: "optic disc", 2: "optic cup"}, regions=EYE),
    prediction("c", Unparsed("empty"), regions=EYE),
]


@pytest.mark.parametrize(
    ("metric", "predictions", "expected"),
    [
        (Accuracy(binary), BINARY, 3 / 5),
        (Accuracy(binary, version="answered"), BINARY, 3 / 4),
        (Accuracy(binary, version="chance_filled"), BINARY, 3.5 / 5),
        (Sensitivity(binary), BINARY, 1 / 2),
        (Specificity(binary), BINARY, 2 / 3),
        (RejectionRate(binary), BINARY, 1 / 5),
        (RegionF1(anatomy), REGIONS, (0.4 + 1) / 3),
        (RegionF1(anatomy, definition="lmod_v1"), REGIONS, 2 * (4 / 9) * (1 / 2) / (4 / 9 + 1 / 2)),
        (HallucinationResistance(anatomy), REGIONS, (2 / 3 + 1) / 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_by_hand_and_nan_without_predictions(metric, predictions, expected):
    metric.update([])
    assert metric.compute().isnan()
    metric.update(predictions)
    torch.testing.assert_close(metric.compute(), torch.tensor(expected, dtype=torch.float32))


def test_a_subset():
    metric = Accuracy(binary, subset="modality=OCT")
    metric.update([prediction("1", "yes", modality="OCT"), prediction("2", "no", modality="CFP")])
    assert metric.compute() == 1.0


def test_an_unknown_metric_is_refused_with_the_known_names():
    metric = NamedMetric(binary, "f1_lmod_plus")
    metric.update(BINARY)
    with pytest.raises(BadArgument, match="metric='f1_lmod_plus': expected one of accuracy_answered"):
        metric.compute()
