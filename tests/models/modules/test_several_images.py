"""Records with two images from the folder through `fit`, in every family: each figure is that of transformers."""

import json
from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.callbacks import Callback

from lmod_train.core.artifacts.replies import read_replies
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.backends.huggingface import HuggingFace
from lmod_train.models.chat.adapters import Lora
from lmod_train.models.chat.family import family_class
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.models.modules.frozen import Frozen
from lmod_train.models.modules.optimisation import Optimisation
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.ways import Ways
from lmod_train.training.callbacks.generation import GenerationEval
from lmod_train.training.callbacks.tripwires import Tripwires
from tests.models.chat.quick import few
from tests.models.chat.reference import generated, loss_of_transformers
from tests.models.chat.written_once import write_tiny
from tests.tiny import record, trainer, write_curated

NEW = 5
WORDS = ("GLAUCOMA", "NON-GLAUCOMA")


def asked(number, split, images):
    return record(f"glaucoma/p/{number}", f"Which eye, {number}?", images, WORDS[number % 2], split=split)


RECORDS = [
    asked(0, "train", ["a.png", "b.png"]),
    asked(1, "train", ["a.png", "b.png"]),
    asked(2, "train", ["b.png", "c.png"]),
    asked(3, "train", ["c.png"]),
    asked(4, "val", ["c.png", "a.png"]),
    asked(5, "val", ["d.png", "a.png"]),
]
LEARNT, HELD = RECORDS[:4], RECORDS[4:]


class Losses(Callback):
    """Notes the loss of each step."""

    def __init__(self):
        self.losses = []

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.losses.append(float(outputs["loss"]))


def replies(model, curated):
    made = [generated(model, curated, one, NEW)[1] for one in HELD]
    return [model.dialect.tokenizer.decode(ids, skip_special_tokens=True).strip() for ids in made]


@pytest.mark.parametrize("model_type", few(("gemma3", "internvl", "llava_next", "qwen3_vl")))
def test_fit_on_two_images_has_the_losses_and_replies_of_transformers(tmp_path, model_type):
    for name in ("base", "curated"):
        (tmp_path / name).mkdir()
    curated, family = write_curated(tmp_path / "curated", RECORDS, side=40), family_class(model_type)
    inside = any(part.startswith(f"{family.tower}.") for part in family.projector)
    module = VisionLanguageModel(
        str(write_tiny(tmp_path / "base", model_type)),
        Lora(4, 8, 0.0),
        Optimisation(0.05, 0.05, warmup=0.0),
        max_new_tokens=NEW,
        tower_features=None if inside else tmp_path / "features",
    )
    module.configure_model()
    plain = SimpleNamespace(network=module.network, dialect=module.dialect)
    with torch.no_grad():
        expected = torch.stack([loss_of_transformers(plain, curated, one) for one in LEARNT]).mean().item()
    before, noted = replies(plain, curated), Losses()
    callbacks = [noted, Tripwires(every=1, stop=False), GenerationEval()]
    quick = trainer(tmp_path, max_epochs=2, callbacks=callbacks)
    quick.fit(module, datamodule=RecordsDataModule(curated, [Glaucoma()], batch_size=4))
    assert noted.losses[0] == pytest.approx(expected, rel=1e-5) and len(noted.losses) == 2
    module.eval()
    after, saved = replies(plain, curated), read_replies(tmp_path / "replies").values()
    assert after != before
    assert [r.reply for one in HELD for r in saved if r.id == one.id and r.step == 2] == after
    first, *_, last = [json.loads(line) for line in (tmp_path / "tripwires.jsonl").read_text().splitlines()]
    for line, told in ((first, before), (last, after)):
        assert [quoted["reply"] for quoted in line["e.g."]] == told and line["n"] == len(HELD)


@pytest.mark.parametrize("model_type", few(("idefics3", "llava_onevision", "qwen2_5_vl")))
def test_few_shot_replies_are_those_of_transformers(tmp_path, model_type):
    """Examples are earlier turns with an image each; every family reads them as its own template and processor do."""
    for name in ("base", "curated"):
        (tmp_path / name).mkdir()
    single = [asked(i, "train" if i < 4 else "val", [f"{i}.png"]) for i in range(6)]
    curated = write_curated(tmp_path / "curated", single, side=40)
    backend = HuggingFace(str(write_tiny(tmp_path / "base", model_type)), max_new_tokens=NEW)
    data = RecordsDataModule(curated, [Glaucoma()], asking=Ways(shots=2))
    trainer(tmp_path, callbacks=[GenerationEval()]).validate(Frozen(backend), datamodule=data, verbose=False)
    kin = SimpleNamespace(network=backend._model, dialect=backend.collate)
    given = {r.id: r for r in read_replies(tmp_path / "replies").values()}
    for one in data.asked("validate"):
        assert len(one.image) == 3 and [m.role for m in one.messages][1::2] == ["assistant"] * 2
        prompt, new = generated(kin, curated, one, NEW)
        assert given[one.id].reply == kin.dialect.tokenizer.decode(new, skip_special_tokens=True).strip()
        assert given[one.id].tokens_in == len(prompt)
