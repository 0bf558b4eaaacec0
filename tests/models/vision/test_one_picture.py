"""A classifier looks at one picture: a record with another number is refused by its id."""

import itertools
from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Box, Region
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.classifier import Classifier
from lmod_train.models.modules.fine_tuning import FineTuning
from lmod_train.models.modules.linear_probe import LinearProbe
from lmod_train.models.modules.nearest_neighbour import NearestNeighbour
from lmod_train.models.vision.crop_table import crops_of
from lmod_train.models.vision.crops import Crops
from lmod_train.models.vision.feature_table import Encoder, FeatureDialect, feature_table
from lmod_train.models.vision.one_picture import one_picture
from lmod_train.models.vision.whole_image import WholeImages
from lmod_train.tasks.glaucoma import Glaucoma
from tests.tiny import record, trainer, write_curated

WORDS = ("GLAUCOMA", "NON-GLAUCOMA")
TINY = Encoder("random", "tiny", 32)
CPU = torch.device("cpu")
DISC = (Region("optic disc", Box(0, 0, 9, 9), 1),)


def features(records, root):
    return FeatureDialect(WORDS, feature_table(records, root, TINY, CPU, "memory", print))(records, root)


USES = {
    "crops_of": lambda records, root: [crops_of(r) for r in records],
    "crops": Crops(WORDS, 8),
    "crop table": lambda records, root: Crops(WORDS, 8).prepared(records, root, "memory")(records, root),
    "features": features,
    "whole images": WholeImages(WORDS, 32),
    "whole images in training": WholeImages(WORDS, 32).training(0, 0),
}


def showing(count, **fields):
    return record("glaucoma/p/7", image=[f"{i}.png" for i in range(count)], **fields)


def refused_unless_one(count):
    expected = rf"glaucoma/p/7 has {count or 'none'}\).*\n?Next: remove the task .*vision-language model"
    return nullcontext() if count == 1 else pytest.raises(BadArgument, match=expected)


@pytest.mark.parametrize("use", USES)
def test_whatever_sees_one_image_refuses_another_count_by_id_count_and_cure(tmp_path, use):
    for count, regions in itertools.product(range(4), ((), DISC)):
        asked = [record("glaucoma/p/1", image=["a.png"]), showing(count, regions=regions)]
        root = write_curated(tmp_path / f"{count}-{len(regions)}", asked)
        with refused_unless_one(count):
            assert len(USES[use](asked, root)) == 2, (count, regions)


MODULES = {
    "cnn": lambda: Classifier(WORDS, side=8),
    "cnn without a table": lambda: Classifier(WORDS, side=8, cache="none"),
    "retfound": lambda: FineTuning("random", WORDS, size="tiny", image_size=32),
    "linear probe": lambda: LinearProbe(TINY, WORDS),
    "nearest neighbour": lambda: NearestNeighbour(TINY, WORDS),
}


class Stop(Exception):
    """The network is built; nothing of interest follows."""


RUNS = [("fit", 0), ("fit", 1), ("fit", 3), ("validate", 1), ("validate", 2)]


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(
    ("command", "count"),
    [
        pytest.param(command, count, marks=[] if (command, count) in RUNS else pytest.mark.slow)
        for command, count in itertools.product(("fit", "validate"), range(4))
    ],
)
def test_a_run_is_refused_before_its_network_is_built(tmp_path, monkeypatch, module, command, count):
    def built(*_):
        raise Stop

    made = MODULES[module]()
    monkeypatch.setattr(type(made), "configure_model", built)
    asked = [record(f"glaucoma/p/{i}", image=[f"{i}.png"], answer=WORDS[i % 2], split="val") for i in range(2)]
    asked += [replace(r, id=f"{r.id}/t", split="train") for r in asked] + [showing(count, split="val")]
    data = RecordsDataModule(write_curated(tmp_path, asked), [Glaucoma()], batch_size=2)
    with refused_unless_one(count) if count != 1 else pytest.raises(Stop):
        getattr(trainer(tmp_path, max_epochs=1), command)(made, datamodule=data)


def test_it_is_the_plain_picture():
    assert one_picture(record(image=["marked.png"], image_plain=("plain.png",))) == "plain.png"


@pytest.mark.parametrize(("pictures", "counted"), [((), "none"), (("a.png", "b.png"), "2")])
def test_none_or_several_are_refused_by_id(pictures, counted):
    wrong = replace(record("glaucoma/p/7"), image_plain=pictures)
    with pytest.raises(BadArgument, match=rf"data\.tasks='glaucoma': .*\(glaucoma/p/7 has {counted}\)\.\nNext: remove"):
        one_picture(wrong)
