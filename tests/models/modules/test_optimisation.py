"""Learning rates and schedule of instruction tuning."""

import pytest
import torch
from transformers import get_cosine_schedule_with_warmup

from lmod_train.models.modules.optimisation import warmup_cosine


@pytest.mark.parametrize(("steps", "warmup"), [(100, 0.1), (50, 0.0), (7, 0.5)])
def test_the_schedule_is_that_of_transformers(steps, warmup):
    optimiser = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    expected = get_cosine_schedule_with_warmup(optimiser, round(steps * warmup), steps).lr_lambdas[0]
    factor = warmup_cosine(steps, warmup)
    assert [factor(i) for i in range(steps + 1)] == pytest.approx([expected(i) for i in range(steps + 1)])
