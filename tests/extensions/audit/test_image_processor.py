"""Image processors as functions: what the families' code prepares, and the token counts of the table of models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.artifacts.model_facts import known_models
from lmod_train.core.errors import BadArgument
from lmod_train.extensions.audit.image_processor import look_of
from lmod_train.extensions.audit.views import measure
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.pictures import Pictures
from tests.families import MODEL_TYPES
from tests.models.chat.real_sizes import REAL, write_processor
from tests.models.chat.written_once import write_other, write_tiny
from tests.other_classes import OTHERS
from tests.tabled import stored

FACTS = {model.name: model for model in known_models()}
MODELS = stored(__file__, "image_processor.MODELS")


def test_every_family_and_class_is_tried():
    assert set(OTHERS) == {*COARSE, "minicpmv4_6"}
    assert set(REAL) == set(MODELS) == set(MODEL_TYPES) - {"qwen2_vl"}  # which no model of the table has


@pytest.mark.parametrize("model_type", MODELS)
def test_the_tokens_of_the_table_are_those_of_the_processor(model_type: str, tmp_path: Path):
    look = look_of(write_processor(tmp_path, model_type), Pictures())
    _, tokens = look(Image.new("RGB", (1024, 1024), (90, 40, 10)))
    assert tokens == FACTS[MODELS[model_type]].tokens


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_a_look_has_the_values_and_tokens_of_the_dialect(model_type: str, tmp_path: Path):
    folder = write_tiny(tmp_path, model_type)
    picture = Image.effect_mandelbrot((120, 90), (-2, -1, 1, 1), 50).convert("RGB")
    values, tokens = look_of(folder, Pictures())(picture)
    images = Dialect(folder).images([picture])
    assert [tokens] == images.tokens
    assert np.array_equal(values.reshape(-1), images.items[0]["pixel_values"].numpy().reshape(-1))


COARSE = stored(__file__, "image_processor.COARSE")
"""Class -> resolution of an image of 120 x 90, and image tokens."""


@pytest.mark.parametrize("model_type", COARSE)
def test_other_classes_are_measured_too(model_type: str, tmp_path: Path):
    resolution, tokens = COARSE[model_type]
    view = measure(look_of(write_other(tmp_path, model_type), Pictures()), 120, 90)
    assert view.resolution == pytest.approx(resolution, rel=0.01)
    kept = 0.75 if model_type == "vipllava" else 1.0
    assert (view.kept, view.tokens) == (pytest.approx(kept, abs=0.02), tokens)


def test_slices_of_several_sizes_are_refused_and_not_measured_wrongly(tmp_path: Path):
    with pytest.raises(BadArgument, match=r"output of the image processor='slices of several sizes"):
        measure(look_of(write_other(tmp_path, "minicpmv4_6"), Pictures()), 120, 90)


def test_a_class_that_crops_is_padded_if_asked(tmp_path: Path):
    view = measure(look_of(write_other(tmp_path, "vipllava"), Pictures(fit="pad")), 120, 90)
    assert view.kept == 1.0 and view.resolution == pytest.approx((48, 36), rel=0.01)
