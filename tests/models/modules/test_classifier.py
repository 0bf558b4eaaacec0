"""The CNN's crops, classes and replies."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Box, Region
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.classifier import Classifier
from lmod_train.models.vision.crop_variation import Variation
from lmod_train.models.vision.crops import Crops
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from tests.tiny import record, trainer, write_curated

ANATOMY = Anatomy(options={"CFP": ["Optic Disc", "optic cup"]})
REGIONS = (Region("optic disc", Box(4, 8, 12, 16), 1), Region("optic cup", Box(20, 0, 40, 4), 2))
VARIATION = Variation(shift=0.2)
LINES = "Region ID: 1; Type: Optic Disc\nRegion ID: 2; Type: optic cup"


def anatomy(**fields):
    defaults = {"task": "anatomy", "choices": ANATOMY.choices, "regions": REGIONS, "scale": 0.5, "answer": LINES}
    return record("anatomy/p/1", image=["marked.png"], image_plain=("plain.png",), **defaults | fields)


@pytest.fixture
def folder(tmp_path):
    """plain.png: half the size of the original, the disc's box red and the cup's blue; marked.png: all white."""
    picture = np.zeros((10, 20, 3), dtype=np.uint8)
    picture[4:8, 2:6] = (255, 0, 0)
    picture[0:2, 10:20] = (0, 0, 255)
    Image.fromarray(picture).save(tmp_path / "plain.png")
    Image.new("RGB", (20, 10), "white").save(tmp_path / "marked.png")
    return tmp_path


def classifier(task, scores):
    """A classifier whose network says the same scores of every crop, in turn."""
    module = Classifier(task.choices, side=8)
    module.configure_model()
    module.model.forward = lambda images: torch.tensor(scores, dtype=images.dtype)
    return module


def test_an_empty_batch_and_a_record_without_an_image(folder):
    crops = Crops(("GLAUCOMA", "NON-GLAUCOMA"), side=8)
    module = Classifier(crops.choices, side=8)
    module.configure_model()
    assert module.respond(crops([], folder)) == []
    with pytest.raises(BadArgument, match="has none"):
        crops([record(image=[])], folder)


@pytest.mark.parametrize(
    ("scores", "said"),
    [([[0, 1], [1, 0]], {1: "optic cup", 2: "optic disc"}), ([[2, 1], [0, 1]], {1: "optic disc", 2: "optic cup"})],
)
def test_replies_about_regions_are_read_by_the_task_s_own_parser(folder, scores, said):
    module, asked = classifier(ANATOMY, scores), anatomy()
    reply = module.respond(module.collate([asked], folder))[0]
    assert {i: word.lower() for i, word in ANATOMY.parse(reply, asked).items()} == said
    assert (reply.id, reply.finish_reason) == (asked.id, "stop")


@pytest.mark.parametrize("task", [Glaucoma(), FourWay()])
def test_replies_about_pictures_are_read_by_the_task_s_own_parser(folder, task):
    words = task.choices
    asked = [record(str(i), image=["marked.png"], task=task.name, choices=words, answer=w) for i, w in enumerate(words)]
    module = classifier(task, np.eye(len(words)).tolist())
    found = module.respond(module.collate(asked, folder))
    assert [task.parse(reply, one) for reply, one in zip(found, asked, strict=True)] == list(words)
    total = sum(np.exp(list(found[0].likelihoods.values())))
    assert list(found[0].likelihoods) == list(words) and total == pytest.approx(1, abs=1e-4)


def test_a_choice_that_the_record_does_not_offer_is_not_said(folder):
    wide = Anatomy(options={"CFP": ["Optic Disc", "optic cup"], "idrid": ["fovea"]})
    asked = anatomy()
    reply = classifier(wide, [[0, 1, 9], [1, 0, 9]]).respond(Crops(wide.choices, 8)([asked], folder))[0]
    assert wide.parse(reply, asked) == {1: "optic cup", 2: "Optic Disc"}


def test_the_loss_is_the_mean_over_crops(folder):
    module = classifier(ANATOMY, [[0.0, 0.0], [3.0, 1.0]])
    module.log = lambda *a, **k: None
    expected = (np.log(2) + np.log(1 + np.exp(2))) / 2  # true classes 0 and 1
    assert module.training_step(module.collate([anatomy()], folder), 0).item() == pytest.approx(expected, abs=1e-5)


def test_it_learns_to_tell_white_from_black(tmp_path):
    for name, colour in (("GLAUCOMA", "white"), ("NON-GLAUCOMA", "black")):
        Image.new("RGB", (8, 8), colour).save(tmp_path / f"{name}.png")
    torch.manual_seed(0)
    module = Classifier(("GLAUCOMA", "NON-GLAUCOMA"), lr=0.01, side=8)
    module.configure_model()
    module.log = lambda *a, **k: None
    records = [record(name, image=[f"{name}.png"], answer=name) for name in module.choices]
    batch, optimiser = module.collate(records, tmp_path), module.configure_optimizers()
    for _ in range(20):
        optimiser.zero_grad()
        module.training_step(batch, 0).backward()
        optimiser.step()
    assert [r.reply for r in module.respond(batch)] == ["GLAUCOMA", "NON-GLAUCOMA"]


def test_several_tasks_are_refused():
    with pytest.raises(BadArgument, match="exactly one task"):
        Classifier()


@pytest.mark.parametrize("side", [0, 30])
def test_a_side_that_two_pools_do_not_halve_is_refused(side):
    with pytest.raises(BadArgument, match="multiple of 4"):
        Classifier(ANATOMY.choices, side=side)


class Watch(Callback):
    """Notes the loss of each step; raises before the step that it is told."""

    def __init__(self, kill_at=None):
        self.losses, self.kill_at = [], kill_at

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if trainer.global_step == self.kill_at:
            raise KilledError

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.losses.append(float(outputs["loss"]))


class KilledError(Exception): ...


@pytest.fixture(scope="module")
def curated_crops(tmp_path_factory):
    """Seven training pictures with two regions each."""
    records = [
        record(f"anatomy/p/{i}", image=[f"{i}.png"], task="anatomy", choices=ANATOMY.choices, answer=LINES,
               regions=(Region("optic disc", Box(i, 0, i + 6, 6), 1), Region("optic cup", Box(0, i, 9, i + 5), 2)))
        for i in range(7)
    ]  # fmt: skip
    return write_curated(tmp_path_factory.mktemp("curated"), records)


def fit(curated, place, watch, cache="disk", variation=VARIATION, **options):
    module = Classifier(ANATOMY.choices, side=8, cache=cache, variation=variation)
    saved = ModelCheckpoint(place, save_last=True, every_n_train_steps=1, save_top_k=1)
    torch.manual_seed(3)
    quick = trainer(place, max_epochs=2, callbacks=[watch, saved], enable_checkpointing=True, limit_val_batches=0)
    quick.fit(module, datamodule=RecordsDataModule(curated, [ANATOMY], batch_size=2), **options)
    return module


def test_a_resumed_training_goes_on_with_cached_crops_varied_the_same(curated_crops, tmp_path):
    steady, killed, resumed = Watch(), Watch(6), Watch()
    fit(curated_crops, tmp_path / "steady", steady)
    with pytest.raises(KilledError):
        fit(curated_crops, tmp_path / "killed", killed)
    fit(curated_crops, tmp_path / "killed", resumed, ckpt_path=tmp_path / "killed" / "last.ckpt", weights_only=True)
    assert len(steady.losses) == 8 and len(set(steady.losses)) == 8 and len(killed.losses) == 6
    assert killed.losses + resumed.losses == steady.losses


def test_training_is_the_same_wherever_crops_lie_and_another_when_they_vary(curated_crops, tmp_path):
    losses = {}
    for cache in ("disk", "memory", "none"):
        watch = Watch()
        fit(curated_crops, tmp_path / cache, watch, cache, None)
        losses[cache] = watch.losses
    assert losses["disk"] == losses["memory"] == losses["none"]
    varied = Watch()
    fit(curated_crops, tmp_path / "varied", varied)
    assert varied.losses[0] != losses["disk"][0]
    assert len(list((curated_crops / "cache").iterdir())) == 1


def test_crops_are_cut_before_the_first_batch(curated_crops, tmp_path):
    module = fit(curated_crops, tmp_path, Watch())
    assert len(module.collate.table) == 14
    assert fit(curated_crops, tmp_path / "none", Watch(), "none").collate.table is None


def test_several_questions_about_one_picture_are_refused_before_anything_is_cut(tmp_path):
    asked = [
        record(f"conditions/p/1/{word}", image=["1.png"], task="conditions", choices=("TRUE", "FALSE"), answer=answer)
        for word, answer in (("drusen", "DRUSEN TRUE"), ("scar", "SCAR FALSE"))
    ]
    data = RecordsDataModule(write_curated(tmp_path, asked), [Conditions()], batch_size=2)
    with pytest.raises(BadArgument, match=r"(?s)data\.variant.*ask 2: DRUSEN , SCAR .*--data\.variant drusen"):
        trainer(tmp_path, max_epochs=1).fit(Classifier(("TRUE", "FALSE"), side=8), datamodule=data)
    assert not (tmp_path / "cache").exists()


def test_two_views_of_a_whole_image_have_the_mean_probability(folder):
    asked = [record(image=["plain.png"])]
    torch.manual_seed(0)
    alone, both = Classifier(Glaucoma.choices, side=8), Classifier(Glaucoma.choices, side=8, views="flip")
    for module in (alone, both):
        module.configure_model()
    torch.nn.init.normal_(alone.model.head[-1].weight)
    both.model.load_state_dict(alone.model.state_dict())
    batch = alone.collate(asked, folder)
    own = [torch.softmax(alone(view), dim=1)[0] for view in (batch.crops, batch.crops.flip(3))]
    told = {
        name: list(module.eval().respond(batch)[0].likelihoods.values())
        for name, module in (("one", alone), ("two", both))
    }
    assert np.exp(told["one"]) == pytest.approx(own[0].detach().numpy(), abs=1e-5)
    assert np.exp(told["two"]) == pytest.approx((own[0] + own[1]).detach().numpy() / 2, abs=1e-5)
    assert abs(own[0] - own[1]).max() > 1e-3, "the views differ"
    assert "views" not in alone.identity().settings and both.identity().settings["views"] == "flip"


def test_views_of_regions_and_of_sides_are_refused(tmp_path):
    with pytest.raises(BadArgument, match=r"views='flip': .*\(left eye\)"):
        Classifier(("pupil", "left eye"), views="flip")
    asked = [replace(anatomy(split="val"), image_plain=("a.png",), image=("a.png",))]
    data = RecordsDataModule(write_curated(tmp_path, asked), [ANATOMY], batch_size=1)
    with pytest.raises(BadArgument, match=r"anatomy/p/1 asks about regions"):
        trainer(tmp_path).validate(Classifier(ANATOMY.choices, side=8, views="flip"), datamodule=data, verbose=False)
