"""States are on the disk before the reply, computed once, and belong to what was asked; other models are refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from lmod_train.core.artifacts.records import read_run_column
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.training_set import TrainedImage, write_training_set
from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Message, Part
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.extensions.dissection import callback as features
from lmod_train.extensions.dissection.callback import Dissection, check_question, shortcuts_of
from lmod_train.extensions.dissection.scores import SHORTCUTS
from lmod_train.extensions.dissection.state_files import Dissected
from lmod_train.models.backends.base import Backend
from lmod_train.models.backends.huggingface import HuggingFace
from lmod_train.models.backends.openai import OpenAI
from lmod_train.models.backends.scripted import Scripted
from lmod_train.models.chat.adapters import Lora
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.models.modules.frozen import Frozen
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.callbacks.generation import GenerationEval
from tests.families import write_tiny
from tests.tiny import record, trainer, write_curated

WORDS = ("GLAUCOMA", "NON-GLAUCOMA")


def eye(i, **fields):
    return record(f"glaucoma/p/{i}", image=[f"{i}.png"], answer=WORDS[i % 2], split="val", **fields)


RECORDS = [eye(i) for i in range(10)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("model"), "llava")


@pytest.fixture
def folder(tmp_path):
    return write_curated(tmp_path / "curated", RECORDS, side=48)


@pytest.fixture
def computed(monkeypatch):
    """Ids of the records whose states are computed, in order."""
    ids, real = [], features.states_of

    def states_of(network, dialect, asked, untrained):
        ids.append(asked.records[0].id)
        return real(network, dialect, asked, untrained)

    monkeypatch.setattr(features, "states_of", states_of)
    return ids


def dissect(folder, run, model, pairs=0, tasks=None, **options):
    module = model if isinstance(model, Frozen | VisionLanguageModel) else Frozen(HuggingFace(str(model), 4))
    quick = trainer(run, callbacks=[Dissection(pairs), GenerationEval()])
    data = RecordsDataModule(folder, tasks or [Glaucoma()], eval_batch_size=2, **{"split": "val"} | options)
    quick.validate(module, datamodule=data, verbose=False)
    return Dissected(run)


def test_the_floor_is_what_a_border_and_coarse_colours_tell(folder, model, tmp_path):
    (tmp_path / "own").mkdir()
    pixels = np.zeros((48, 96, 3), np.uint8)
    pixels[:, 48:] = 200, 100, 50
    Image.fromarray(pixels).save(tmp_path / "own" / "0.png")
    border, thumbnail = shortcuts_of(eye(0), Curated(tmp_path / "own")).values()
    assert torch.equal(border.view(32, 32), torch.cat([torch.ones(32, 16), torch.zeros(32, 16)], 1))
    assert (thumbnail.view(24, 24, 3)[:, :12] == 0).all()
    assert (thumbnail.view(24, 24, 3)[:, 12:] == torch.tensor([200.0, 100.0, 50.0])).all()
    dissected = dissect(folder, tmp_path / "run", model)
    places = dissected.places()
    assert list(places)[:2] == list(SHORTCUTS)
    asked = read_run_column(Run(tmp_path / "run").records, "asked")
    for record_ in RECORDS[1:3]:
        for place, vector in shortcuts_of(record_, Curated(folder)).items():
            assert (dissected.states([asked[record_.id]], places[place])[0] == vector.numpy()).all()


def stored(run):
    return {file.stem for file in Dissected(run).features.iterdir()}


def test_every_record_has_states_and_a_second_run_computes_none(folder, model, tmp_path, computed):
    dissected = dissect(folder, tmp_path / "run", model)
    asked = read_run_column(Run(tmp_path / "run").records, "asked")
    assert computed == sorted(asked) == [r.id for r in RECORDS] and stored(tmp_path / "run") == set(asked.values())
    assert dissected.left_out() == {} and len(read_replies(tmp_path / "run" / "replies")) == 10
    places = dissected.places()
    likelihoods = dissected.states([asked[r.id] for r in RECORDS], places["likelihoods"])
    assert likelihoods.shape == (10, 2) and (likelihoods < 0).all() and len(np.unique(likelihoods)) > 10
    dissect(folder, tmp_path / "run", model)
    assert len(computed) == 10


def test_states_are_stored_before_the_reply_and_kept_by_a_killed_run(folder, model, tmp_path, computed, monkeypatch):
    class Killed(Exception): ...

    real = HuggingFace.respond

    def respond(self, batch):
        if len(computed) >= 6:
            raise Killed
        return real(self, batch)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(HuggingFace, "respond", respond)
        dissect(folder, tmp_path / "run", model)
    assert len(stored(tmp_path / "run")) == 6 and len(read_replies(tmp_path / "run" / "replies")) == 4
    dissect(folder, tmp_path / "run", model)
    assert computed == [r.id for r in RECORDS], "none twice"
    assert len(read_replies(tmp_path / "run" / "replies")) == 10


def test_a_changed_image_or_question_is_computed_again_and_old_states_are_not_used(folder, model, tmp_path, computed):
    run = tmp_path / "run"
    before = read_states(dissect(folder, run, model), run)
    Image.new("RGB", (48, 48), "white").save(folder / "3.png")
    write_changed(folder, RECORDS)
    after = read_states(dissect(folder, run, model), run)
    assert computed[10:] == ["glaucoma/p/3"]
    assert [i for i in range(10) if not np.array_equal(before[i], after[i])] == [3]
    asking = (Message("user", (Part("image"), Part("text", "Is it glaucoma, or not?"))),)
    write_changed(folder, [replace(r, messages=asking) for r in RECORDS])
    again = read_states(dissect(folder, run, model), run)
    assert len(computed) == 21 and all(not np.array_equal(again[i], after[i]) for i in range(10))


def read_states(dissected, run):
    asked = read_run_column(Run(run).records, "asked")
    return dissected.states([asked[r.id] for r in RECORDS], dissected.places()["likelihoods"])


def write_changed(folder, records):
    from lmod_train.core.artifacts.records import write_records
    from tests.tiny import hashed

    write_records(folder / "records" / "glaucoma.parquet", [hashed(folder, r) for r in records])


def test_records_that_cannot_be_dissected_are_listed_once_and_the_rest_is_done(model, tmp_path):
    two = record("glaucoma/p/x", image=["0.png", "1.png"], split="val")
    none = record("glaucoma/p/y", image=[], split="val")
    folder = write_curated(tmp_path / "curated", [*RECORDS, two, none], side=48)
    for _ in range(2):
        dissected = dissect(folder, tmp_path / "run", model)
    assert dissected.left_out() == {two.id: "it shows 2 images, not one", none.id: "it shows 0 images, not one"}
    lines = "".join(file.read_text() for file in dissected.folder.glob("left_out/*.csv"))
    assert lines.count("\n") == 2 and len(stored(tmp_path / "run")) == 10
    assert len(read_replies(tmp_path / "run" / "replies")) == 12


def test_states_that_are_not_finite_are_listed(folder, model, tmp_path, monkeypatch):
    real = features.states_of

    def states_of(network, dialect, asked, untrained):
        found = real(network, dialect, asked, untrained)
        if asked.records[0].id.endswith("/3"):
            found["tower"][0] = float("inf")
        return found

    monkeypatch.setattr(features, "states_of", states_of)
    dissected = dissect(folder, tmp_path / "run", model)
    assert list(dissected.left_out()) == ["glaucoma/p/3"] and len(stored(tmp_path / "run")) == 9


def test_images_are_exchanged_between_patients_once_for_what_is_asked(folder, model, tmp_path, monkeypatch):
    calls, kept = [], []

    def exchanged(network, dialect, asked, biases, encoded):
        calls.append([r.id for r in asked.records])
        for name in calls[-1]:
            kept.append(name in encoded)
            encoded[name] = None
        return [features.Exchange(asked.records[0].id, r.id, 0, True, True) for r in asked.records[1:]]

    monkeypatch.setattr(features, "exchanged", exchanged)
    monkeypatch.setattr(Dissection, "_likelihoods", lambda self, record: np.eye(2)[int(record.id[-1]) % 2])
    dissected = dissect(folder, tmp_path / "run", model, pairs=3)
    assert len(calls) == 3 and kept.count(False) == len({name for own in calls for name in own}), "encoded once"
    for one, other, same in calls:
        assert (int(one[-1]) - int(other[-1])) % 2 == 1 and (int(one[-1]) - int(same[-1])) % 2 == 0 and one != same
    assert len(pd.read_csv(dissected.interchange)) == 6
    dissect(folder, tmp_path / "run", model, pairs=3)
    assert len(calls) == 3
    for i in range(10):
        Image.new("RGB", (48, 48), (i, i, i)).save(folder / f"{i}.png")
    write_changed(folder, RECORDS)
    dissect(folder, tmp_path / "run", model, pairs=3)
    assert len(calls) == 6, "other images"


def test_pairs_are_chosen_once_the_prior_is_removed(folder, model, tmp_path, monkeypatch):
    """A model that always prefers one choice has pairs that differ all the same."""
    given = {r.id: np.array([0.0, 9.0 + i % 2]) for i, r in enumerate(RECORDS)}
    monkeypatch.setattr(Dissection, "_likelihoods", lambda self, record: given[record.id])
    used = []

    def exchanged(network, dialect, asked, biases, encoded):
        preferred = [int((given[r.id] + biases).argmax()) for r in asked.records]
        assert preferred[0] != preferred[1] and preferred[0] == preferred[2]
        used.append(biases)
        return [features.Exchange(asked.records[0].id, r.id, 0, True, True) for r in asked.records[1:]]

    monkeypatch.setattr(features, "exchanged", exchanged)
    dissect(folder, tmp_path / "run", model, pairs=4)
    assert len(used) == 4 and {tuple(biases) for biases in used} == {(0.0, -9.5)}


@pytest.mark.parametrize("when", ["exchanged", "keep", "respond"])
def test_a_run_killed_at_its_end_has_the_exchanges_once_it_is_complete(folder, model, tmp_path, monkeypatch, when):
    """Nothing runs where no question is left to ask, so that all else is done in front of the last reply."""

    class Killed(Exception): ...

    def killed(*given):
        if when == "keep" and given[1] != Dissected(run).interchange:
            return kept(*given)
        if when != "respond" or len(read_replies(run / "replies")) == 8:
            raise Killed
        return responded(*given)

    run, responded, kept = tmp_path / "run", HuggingFace.respond, Dissected.keep
    monkeypatch.setattr(Dissection, "_likelihoods", lambda self, record: np.eye(2)[int(record.id[-1]) % 2])
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr({"exchanged": features, "keep": Dissected, "respond": HuggingFace}[when], when, killed)
        dissect(folder, run, model, pairs=2)
    assert len(read_replies(run / "replies")) == 8, "one batch is left"
    dissected = dissect(folder, run, model, pairs=2)
    assert len(read_replies(run / "replies")) == 10 and len(pd.read_csv(dissected.interchange)) > 4


def test_a_tuned_model_is_not_read_on_what_it_was_tuned_on(folder, model, tmp_path, computed):
    tuned = VisionLanguageModel(str(model), lora=Lora(2, 4, 0.0), max_new_tokens=4)
    data = RecordsDataModule(folder, [Glaucoma()], split="val")
    data.setup("validate")
    families = data.families()
    seen = [TrainedImage("train", "phantom", "other", data.asked("validate")[0].image_sha256[0])]
    seen += [TrainedImage("train", "phantom", families["glaucoma/p/3"], "")]
    seen += [TrainedImage("val", "phantom", families["glaucoma/p/5"], "")]
    write_training_set(tmp_path / "fit", seen)
    quick = trainer(tmp_path / "run", callbacks=[Dissection(0), GenerationEval()])
    first = trainer(tmp_path / "fit", max_steps=1)
    first.validate(tuned, datamodule=data, verbose=False)
    (tmp_path / "fit" / "checkpoints").mkdir()
    first.save_checkpoint(tmp_path / "fit" / "checkpoints" / "last.ckpt")
    checkpoint = str(tmp_path / "fit" / "checkpoints" / "last.ckpt")
    quick.validate(tuned, datamodule=data, ckpt_path=checkpoint, verbose=False)
    left = Dissected(tmp_path / "run").left_out()
    assert left == {
        "glaucoma/p/0": "the model was tuned on the same image file",
        "glaucoma/p/3": "the model was tuned on the same patient or photograph",
    }
    assert len(computed) == 8


class NoNetwork(Backend):
    """A backend that has only its name."""

    def __init__(self):
        self.collate = None

    def prepare(self, device): ...
    def identity(self): ...
    def respond(self, batch): ...


@pytest.mark.parametrize(
    "backend",
    [Scripted(text="GLAUCOMA"), OpenAI("http://localhost:1/v1", "m"), NoNetwork()],
    ids=lambda backend: type(backend).__name__,
)
def test_a_model_without_local_weights_is_refused_with_what_to_do_instead(folder, tmp_path, backend):
    with pytest.raises(BadArgument, match=rf"{type(backend).__name__}.*local weights.*\nNext: .*curate") as refused:
        dissect(folder, tmp_path / "run", Frozen(backend))
    assert "grounding.yaml" in str(refused.value) and not (tmp_path / "run" / "replies").exists()


def other(text):
    return (Message("user", (Part("image"), Part("text", text))),)


MIXED = [
    ([replace(r, task="other") if i % 2 else r for i, r in enumerate(RECORDS)], "data.tasks.*2 tasks"),
    ([replace(r, variant=f"v{i % 2}") for i, r in enumerate(RECORDS)], "--data.variant v0"),
    ([replace(r, variant="v0" if i % 2 else "") for i, r in enumerate(RECORDS)], "--data.variant v0"),
    ([replace(r, messages=other(f"Is it {i}?")) for i, r in enumerate(RECORDS)], "asks the same about each image"),
    ([replace(r, choices=r.choices[:: (-1) ** i]) for i, r in enumerate(RECORDS)], "asks the same about each image"),
    ([replace(r, choices=(), answer="Some words.") for r in RECORDS], "its answer is not one of listed choices"),
    ([replace(r, image=r.image * 2) for r in RECORDS], "2 images, not one"),
    ([replace(r, answer="GLAUCOMA") for r in RECORDS], "1 classes"),
    ([replace(r, answer="GLAUCOMA" if i else "NON-GLAUCOMA") for i, r in enumerate(RECORDS)], "1 patients"),
    ([replace(r, group="one") for r in RECORDS], "1 patients"),
    ([], "records to dissect"),
]


@pytest.mark.parametrize(("records", "told"), MIXED, ids=[told for _, told in MIXED])
def test_what_a_probe_cannot_read_is_refused_before_anything_is_asked(records, told):
    with pytest.raises(BadArgument) as refused:
        check_question(records)
    import re

    assert re.search(told, str(refused.value)) and "Next: " in str(refused.value)


@pytest.mark.parametrize(("left", "told"), [(0, "--split held_out"), (6, "3 patients in the smallest"), (8, "")])
def test_what_is_left_beside_the_training_is_enough_or_refused_before_anything_is_asked(left, told):
    seen = {r.id: "the model was tuned on the same image file" for r in RECORDS[left:]}
    if told:
        with pytest.raises(BadArgument, match=told):
            check_question(RECORDS, seen)
    else:
        check_question(RECORDS, seen)


def test_images_of_another_kind_may_be_asked_in_their_own_words():
    check_question(
        [replace(r, messages=other("An OCT?"), modality="OCT") if i > 4 else r for i, r in enumerate(RECORDS)]
    )
    check_question([*RECORDS, replace(RECORDS[0], id="open", choices=(), answer="words", messages=other("Why?"))])


def test_several_questions_are_refused_in_a_run(model, tmp_path):
    folder = write_curated(tmp_path / "c", [replace(r, variant=f"v{i % 2}") for i, r in enumerate(RECORDS)], side=48)
    with pytest.raises(BadArgument, match=r"data\.variant"):
        dissect(folder, tmp_path / "run", model)
    assert not stored(tmp_path / "run") if Dissected(tmp_path / "run").features.exists() else True
    for i in range(2):
        with pytest.raises(BadArgument, match="1 classes"):  # the answers alternate as the variants do
            dissect(folder, tmp_path / f"run{i}", model, variant=f"v{i}")
