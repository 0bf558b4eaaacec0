"""The command `dissect`, through the front door, on tiny random models; what it refuses, and with what cure."""

import json
import shutil
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest
import torch
import yaml
from PIL import Image
from safetensors.torch import save_file

from lmod_train import cli
from lmod_train.core.artifacts.predictions import write_predictions
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Message, Part, Reply
from lmod_train.core.types import Prediction as Predicted
from lmod_train.extensions.dissection import callback as features
from lmod_train.extensions.dissection import ceiling as ceilings
from lmod_train.extensions.dissection import command as command
from lmod_train.extensions.dissection import linear_reading as reading
from lmod_train.extensions.dissection.scores import ABSENT, CEILING, CHEAP
from lmod_train.extensions.dissection.state_files import Dissected
from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.family import family_of
from lmod_train.scoring import linear_probe
from lmod_train.scoring.items import images_of
from tests.behind_timm import write_behind
from tests.families import write_tiny
from tests.tiny import hashed, record, write_curated

QUIET = ["--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false", "--trainer.logger", "false"]
WORDS = ("GLAUCOMA", "NON-GLAUCOMA")
SPLITS = ("val", "test", "train")
RECORDS = [record(f"glaucoma/p/{i}", image=[f"{i}.png"], answer=WORDS[i % 2], split=SPLITS[i % 3]) for i in range(24)]
HELD_OUT = [r.id for r in RECORDS if r.split != "train"]


@pytest.fixture(autouse=True)
def _quick(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    quick(monkeypatch)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("tiny_llava"), "llava")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_curated(tmp_path_factory.mktemp("curated"), RECORDS, side=48)


@pytest.fixture(scope="module")
def complete(model, folder, tmp_path_factory):
    """A folder `out` of the command, complete, and what was printed."""
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(StringIO()) as printed:
        patched.chdir(tmp_path_factory.mktemp("complete"))
        quick(patched)
        assert dissect(model, folder, "--pairs", "2") == 0
        return Path("out").resolve(), printed.getvalue()


@pytest.fixture
def out(complete, tmp_path):
    return shutil.copytree(complete[0], tmp_path / "out")


def quick(patched):
    """Make probes of one strength in two folds."""
    for name, value in {"FOLDS": 2, "INNER": 2, "STRENGTHS": (1.0,)}.items():
        patched.setattr(linear_probe, name, value)
    patched.setattr(reading, "PERMUTATIONS", 1)


def dissect(model, folder, *options, task="glaucoma", out="out"):
    return cli.main(["dissect", str(model), str(folder), "--task", task, "--out", str(out), *options, *QUIET])


def changed(tmp_path, records):
    return write_curated(tmp_path / "changed", records, side=48)


def test_a_folder_of_weights_is_dissected(complete):
    out, said = complete
    assert "glaucoma: 16 of 16 replies were not read (" in said and " is answered: " in said
    assert "; 0." in said and " can be read from the tower, " in said
    assert "wrote out/report/index.html" in said and (out / "report" / "index.html").exists()
    page, sentence = (out / "report" / "tables.md").read_text(), sentence_in(said)
    assert "Where is it lost?" in page and sentence.partition(": ")[2][:60] in page
    assert sorted(set(pd.read_parquet(Dissected(out).answers)["id"])) == sorted(HELD_OUT)


def sentence_in(said):
    return next(line for line in said.splitlines() if " can be read from the tower, " in line)


def test_the_same_command_continues(complete, model, folder, out, capsys, monkeypatch):
    monkeypatch.setattr(features, "states_of", None)  # nothing is computed again
    assert dissect(model, folder, "--pairs", "2") == 0
    assert sentence_in(capsys.readouterr().out) == sentence_in(complete[1])
    assert len(read_replies(out / "replies")) == 16


@pytest.mark.slow
def test_a_yaml_and_the_tower_without_layers_of_timm(folder, tmp_path, capsys):
    (tmp_path / "timm").mkdir()
    behind = write_behind(tmp_path / "timm")
    backend = {"class_path": "lmod_train.models.backends.huggingface.HuggingFace"}
    backend["init_args"] = {"checkpoint": str(behind), "max_new_tokens": 3}
    module = {"class_path": "lmod_train.models.modules.frozen.Frozen", "init_args": {"backend": backend}}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(module))
    assert dissect("own.yaml", folder, "--pairs", "0") == 0
    assert "can be read from the tower" in capsys.readouterr().out
    places = set(Dissected(tmp_path / "out").places())
    assert {"tower", "projector", "last layer"} <= places and not any(p.startswith("tower.") for p in places)


@pytest.mark.slow
def test_a_run_of_fit_with_adapters_and_stored_tower_features_is_dissected_and_not_on_its_training(
    model, folder, tmp_path, capsys
):
    small = ["--model.init_args.checkpoint", str(model), "--model.init_args.max_new_tokens", "3"]
    small += ["--model.init_args.tower_features", str(tmp_path / "stored"), "--trainer.max_steps", "1"]
    tuned = ["--model", "small_base_lora", "--data.curated", str(folder), "--data.tasks", "glaucoma", "--run", "fit"]
    assert cli.main(["fit", *tuned, *small, "--doctor.refuse", "false", *QUIET]) == 0, capsys.readouterr().err
    assert dissect("fit", folder, "--pairs", "0") == 0, capsys.readouterr().err
    assert "can be read from the tower" in capsys.readouterr().out
    assert any((tmp_path / "stored").rglob("*.npy")), "stored in training; a tower that is not run has no layers"
    assert Run(tmp_path / "out").read_config()["model"]["init_args"].get("tower_features") is None
    with pytest.warns(UserWarning, match="8 of 24 records belong to the training"):
        assert dissect("fit", folder, "--split", "all", "--pairs", "0", out="all") == 0
    assert "(8 records could not be dissected)" in capsys.readouterr().out
    answers = pd.read_parquet(Dissected(tmp_path / "all").answers)
    assert sorted(set(answers["id"])) == sorted(HELD_OUT)


@pytest.mark.parametrize(("tuned", "lora"), [({"lora": {"rank": 4}}, {"rank": 4}), ({"tune_tower": True}, None)])
def test_what_the_config_of_a_run_leaves_out_was_null(tmp_path, tuned, lora):
    """A run without adapters states no `lora`, whose default has some."""
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "last.ckpt").touch()
    path = "lmod_train.models.modules.conversation.VisionLanguageModel"
    arguments = {"checkpoint": "small_base", "tower_features": "stored", **tuned}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"model": {"class_path": path, "init_args": arguments}}))
    _, text, *_ = command._model(str(tmp_path), ())
    given = json.loads(text)["init_args"]
    assert given["lora"] == lora and given["tower_features"] is None and given["checkpoint"] == "small_base"
    assert "max_tokens" not in given, "an argument that may not be null keeps its default"


def ceiling(tmp_path, records, folder):
    """A run of a supervised model that is always right."""
    own = [hashed(folder, r) if (folder / r.image[0]).exists() else r for r in records]
    write_predictions(Run(tmp_path / "cnn").predictions, [Predicted(r, Reply(r.id, r.answer), r.answer) for r in own])
    return "cnn"


@pytest.mark.slow
def test_a_ceiling_counts_for_the_same_images_outside_its_training(model, folder, tmp_path, capsys):
    known = [r for r in RECORDS if r.id != HELD_OUT[0]]
    named = ceiling(tmp_path, known, folder)
    assert dissect(model, folder, "--ceiling", named, "--pairs", "0", "--split", "all") == 0
    assert " 1.00 by the supervised model, " in capsys.readouterr().out
    answers = pd.read_parquet(Dissected(tmp_path / "out").answers)
    read = answers[answers["place"] == CEILING].set_index("id")["read"]
    assert set(read.index[read == ABSENT]) == {r.id for r in RECORDS if r.split == "train"} | {HELD_OUT[0]}


@pytest.mark.parametrize(
    "records",
    [
        [replace(r, id=r.id.replace("/p/", "/q/")) for r in RECORDS],
        [replace(r, id=r.id.replace("glaucoma", "sex"), task="sex") for r in RECORDS],
        [r for r in RECORDS if r.split == "train"],
    ],
    ids=["ids", "task", "training"],
)
def test_a_ceiling_of_other_records_is_refused_before_the_model_is_loaded(model, folder, tmp_path, capsys, records):
    assert dissect(model, folder, "--ceiling", ceiling(tmp_path, records, folder), "--pairs", "2") == 2
    refused(capsys, "--ceiling", "other records")
    assert not (tmp_path / "out").exists()


def test_a_ceiling_of_other_images_is_refused_and_what_was_computed_is_kept(model, folder, out, tmp_path, capsys):
    named = ceiling(tmp_path, [replace(r, image=("none.png",)) for r in RECORDS], folder)
    assert dissect(model, folder, "--ceiling", named, "--pairs", "2") == 2
    refused(capsys, "--ceiling", "is kept")
    assert len(list(Dissected(out).features.iterdir())) == 16


def refused(capsys, *told):
    said = capsys.readouterr().err
    assert all(word in said for word in (*told, "Next: ")) and "Traceback" not in said, said


def test_a_ceiling_does_not_count_for_what_its_model_was_trained_on(folder):
    """A run of a model that was trained elsewhere lists its questions without the training."""
    own = [hashed(folder, r) for r in RECORDS]
    given = [Predicted(r, Reply(r.id, r.answer), r.answer) for r in own]
    images = {r.id: images_of(r) for r in own}
    for unseen in (HELD_OUT, HELD_OUT[:3], [HELD_OUT[0], RECORDS[2].id]):
        assert set(ceilings.reached(given, frozenset(unseen), images)) == set(unseen) & set(HELD_OUT)
    assert set(ceilings.reached(given, None, images)) == set(HELD_OUT)
    with pytest.raises(BadArgument, match="not trained on"):
        ceilings.reached(given, frozenset(), images)


def test_few_training_images_make_no_cheap_ceiling(complete):
    out, said = complete
    assert "no cheap ceiling: the training split has 8 images of this task, and a step takes 32\n" in said
    assert "whether the tower itself loses any is not tested: add `--ceiling RUN`" in sentence_in(said)
    assert not Dissected(out).ceiling.exists()


@pytest.mark.parametrize("answers", [[WORDS[0]] * 40, [WORDS[0]] * 39 + [WORDS[1]], [*WORDS] * 15, []])
def test_a_cheap_ceiling_needs_a_step_of_images_and_two_answers(answers):
    why = ceilings._untrainable([replace(RECORDS[0], answer=answer) for answer in answers])
    assert bool(why) == (len(answers) < 32 or len(set(answers)) < 2)


def shining(tmp_path, images=72):
    """A folder whose images are bright for one answer and dark for the other, with enough training images."""
    more = [
        record(f"glaucoma/p/{i}", image=[f"{i}.png"], answer=WORDS[i % 2], split="train") for i in range(24, images)
    ]
    records = [*RECORDS, *more]
    folder = changed(tmp_path, records)
    for i, one in enumerate(records):
        Image.new("RGB", (48, 48), (60 + i, 90, 30 + 170 * (one.answer == WORDS[0]))).save(folder / one.image[0])
    write_records(folder / "records" / "glaucoma.parquet", [hashed(folder, r) for r in records])
    return folder


@pytest.mark.slow
def test_the_cheap_ceiling_reaches_what_the_pixels_show_and_is_trained_once(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(ceilings, "_STEPS", [word.replace("200", "25") for word in ceilings._STEPS])
    folder = shining(tmp_path)
    assert dissect(model, folder, "--pairs", "0") == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    assert " 1.00 by the cheap ceiling (a small CNN" in sentence_in(said)
    own = Dissected(tmp_path / "out")
    read = pd.read_parquet(own.answers)
    assert sorted(read[read["place"] == CHEAP]["id"]) == sorted(HELD_OUT), "each record once, none of the training"
    assert "cheap ceiling" in (tmp_path / "out" / "report" / "tables.md").read_text()
    trained = Run(own.ceiling / "fit").last.stat().st_mtime_ns
    assert dissect(model, folder, "--pairs", "0") == 0
    assert sentence_in(capsys.readouterr().out) == sentence_in(said)
    assert Run(own.ceiling / "fit").last.stat().st_mtime_ns == trained
    assert dissect(model, folder, "--pairs", "0", "--ceiling", "none") == 0
    assert "ceiling (" not in capsys.readouterr().out


@pytest.mark.slow
def test_a_cheap_ceiling_that_cannot_be_trained_is_left_out_with_the_reason(model, tmp_path, capsys):
    folder = shining(tmp_path)
    (folder / "30.png").write_bytes(b"no picture")
    assert dissect(model, folder, "--pairs", "0") == 0
    said = capsys.readouterr().out
    assert "no cheap ceiling: " in said and "30.png" in said and "Next" not in said
    assert "ceiling (" not in sentence_in(said)


@pytest.fixture(scope="module")
def tuned(folder, tmp_path_factory):
    """The folder of another model of this architecture, dissected."""
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(StringIO()):
        patched.chdir(tmp_path_factory.mktemp("tuned"))
        quick(patched)
        assert dissect(write_tiny(Path.cwd(), "llava", seed=1), folder, "--pairs", "4") == 0
        return Path("out").resolve()


def test_a_reference_is_another_model_of_the_architecture(model, folder, tuned, out, tmp_path, capsys):
    own, named = Dissected(out), ("--pairs", "2", "--reference")
    assert dissect(model, folder, *named, str(tuned)) == 0
    assert len(pd.read_csv(own.reference)) == len(pd.read_csv(Dissected(tuned).interchange))
    assert ": reference" in (out / "report" / "tables.md").read_text()
    capsys.readouterr()
    same = shutil.copytree(out, tmp_path / "same")
    assert dissect(model, folder, *named, str(same)) == 2
    refused(capsys, "--reference", "the same model", "is kept")
    places = json.loads((Dissected(same).folder / "places.json").read_text())
    for layer in [p for p in places["places"] if p.startswith("image.")]:
        places["places"][f"{layer}0"] = places["places"].pop(layer)
    (Dissected(same).folder / "places.json").write_text(json.dumps(places))
    config = yaml.safe_load(Run(same).config.read_text())
    config["provenance"]["weights"] = {"other": "f00"}
    Run(same).config.write_text(yaml.safe_dump(config))
    assert dissect(model, folder, *named, str(same)) == 2
    refused(capsys, "--reference", "other layers")
    shutil.copy(own.folder / "places.json", Dissected(same).folder / "places.json")
    assert dissect(model, folder, *named, str(same)) == 2, "other files, and the same replies"
    refused(capsys, "--reference", "log-likelihoods of 16 records are equal", "the base before tuning")
    assert dissect(model, folder, "--pairs", "2") == 0 and not own.reference.exists(), "as typed last"


@pytest.mark.slow
def test_one_model_is_no_reference_for_itself_in_any_form(model, folder, tmp_path, capsys):
    """The same checkpoint of `fit`, the same adapters merged, and a copy of the base; the base is one for the tuned."""
    given = ["--model.init_args.checkpoint", str(model), "--trainer.max_steps", "8"]
    given += ["--model.init_args.optimisation.lr", "0.02", "--model.init_args.max_new_tokens", "3"]
    tuned = ["--model", "small_base_lora", "--data.curated", str(folder), "--data.tasks", "glaucoma", "--run", "fit"]
    assert cli.main(["fit", *tuned, *given, "--doctor.refuse", "false", *QUIET]) == 0, capsys.readouterr().err
    assert cli.main(["weights", "merge", "--ckpt", "fit/checkpoints/last.ckpt", "--out", "merged"]) == 0, (
        capsys.readouterr().err
    )
    shutil.copytree(model, tmp_path / "copy")
    for name, own in {"tuned": "fit", "base": model}.items():
        assert dissect(own, folder, "--pairs", "2", out=name) == 0, capsys.readouterr().err
    capsys.readouterr()
    for own, reference, told in (
        ("fit", "tuned", "files are the same"),
        ("merged", "tuned", "log-likelihoods of 16 records are equal"),
        ("copy", "base", "files are the same"),
    ):
        assert dissect(own, folder, "--pairs", "2", "--reference", reference, out=f"{own}_out") == 2
        refused(capsys, "--reference", told, "another seed")
    assert dissect("fit", folder, "--pairs", "2", "--reference", "base", out="tuned") == 0, capsys.readouterr().err


@pytest.mark.parametrize("lost", ["answers", "interchange", "all", "task"])
def test_a_reference_that_says_nothing_is_refused_before_the_model_is_loaded(
    model, folder, tuned, tmp_path, capsys, lost
):
    given = shutil.copytree(tuned, tmp_path / "ref")
    if lost == "task":
        rows = pd.read_parquet(Dissected(given).answers)
        rows["id"] = "sex/" + rows["id"]
        Dissected(given).keep(Dissected(given).answers, rows)
        other = pd.read_csv(Dissected(given).interchange)
        Dissected(given).keep(Dissected(given).interchange, other.assign(id="sex/" + other["id"]))
    elif lost == "all":
        shutil.rmtree(given)
    else:
        getattr(Dissected(given), lost).unlink()
    assert dissect(model, folder, "--reference", "ref") == 2
    refused(capsys, "--reference", "dissect MODEL CURATED --task glaucoma --out DIR")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["encoder", "half", "base", "own", "trained", "gone"])
def test_a_ceiling_on_the_same_tower_is_none(model, out, folder, tmp_path, capsys, kind):
    """Under other names and in another type; a model that trains these weights further has a tower of its own."""
    network = load(model)
    tower = network.get_submodule(family_of(network).tower).state_dict().values()
    change = 1.5 if kind == "own" else 1.0
    held = {f"v.{i}": change * t.to(torch.bfloat16 if kind == "half" else t.dtype) for i, t in enumerate(tower)}
    save_file({name: t.contiguous() for name, t in held.items()}, tmp_path / "tower.safetensors")
    weights = "gone.pth" if kind == "gone" else str(tmp_path / "tower.safetensors")
    given = {"encoder": {"weights": weights}}
    given = {"base": {"backend": {"init_args": {"checkpoint": str(model)}}}, "trained": {"weights": weights}}.get(
        kind, given
    )
    run = Run(tmp_path / "cnn")
    run.config.parent.mkdir()
    run.config.write_text(yaml.safe_dump({"model": {"class_path": "a.B", "init_args": given}}))
    with pytest.raises(BadArgument, match="tower of MODEL") if kind in ("encoder", "half", "base") else nullcontext():
        ceilings.refuse_own_tower(out, tmp_path / "cnn")
    if kind == "encoder":
        assert dissect(model, folder, "--pairs", "2", "--ceiling", ceiling(tmp_path, RECORDS, folder)) == 2
        refused(capsys, "--ceiling", "from pixels", "is kept")


def test_a_ceiling_that_does_not_exist_is_refused_before_the_model_is_loaded(model, folder, tmp_path, capsys):
    assert dissect(model, folder, "--ceiling", "nowhere") == 2
    refused(capsys, "nowhere")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"task": "four_way"}, "four_way"),
        ({"model": "no_such_model"}, "no_such_model"),
        ({"model": "scripted"}, "local weights"),
        ({"folder": "nowhere"}, "nowhere"),
    ],
)
def test_what_does_not_exist_or_has_no_weights_here_is_refused(model, folder, capsys, given, told):
    backend = ["--model.init_args.backend.init_args.text", "GLAUCOMA"] if given.get("model") == "scripted" else []
    own = {"model": model, "folder": folder} | given
    assert dissect(own["model"], own["folder"], *backend, task=own.get("task", "glaucoma")) == 2
    refused(capsys, told)


def test_an_endpoint_is_refused_with_what_to_do_instead(folder, capsys):
    named = ["--model.init_args.backend.init_args.base_url", "http://127.0.0.1:9/v1"]
    assert dissect("openai", folder, *named, "--model.init_args.backend.init_args.model", "m") == 2
    refused(capsys, "OpenAI", "local weights", "grounding.yaml")


def test_a_run_without_checkpoints_is_no_model(model, folder, tmp_path, capsys):
    Run(tmp_path / "run").config.parent.mkdir()
    Run(tmp_path / "run").config.write_text("model: {}\n")
    assert dissect("run", folder) == 2
    refused(capsys, "checkpoints/last.ckpt", "list models")


@pytest.mark.parametrize("kind", ["mine.Model", "lmod_train.models.modules.frozen.Frozen"])
def test_a_received_run_runs_no_class_of_its_own(folder, tmp_path, capsys, kind):
    given = {"backend": {"class_path": "mine.Backend"}} if kind.startswith("lmod") else {}
    run = Run(tmp_path / "run")
    run.last.parent.mkdir(parents=True)
    run.last.write_bytes(b"")
    run.config.write_text(yaml.safe_dump({"model": {"class_path": kind, "init_args": given}}))
    (tmp_path / "mine.py").write_text("open('ran', 'w')")
    assert dissect("run", folder) == 2
    refused(capsys, "mine", "--trust mine")
    assert not (tmp_path / "ran").exists()


def other(text):
    return (Message("user", (Part("image"), Part("text", text))),)


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ([replace(r, variant=f"v{i % 2}") for i, r in enumerate(RECORDS)], "--data.variant v0"),
        ([replace(r, messages=other(f"Is it {r.id}?")) for r in RECORDS], "asks the same about each image"),
        ([replace(r, answer=WORDS[0]) for r in RECORDS], "1 classes"),
        ([replace(r, answer=WORDS[r.id != HELD_OUT[0]]) for r in RECORDS], "1 patients in the smallest"),
        ([replace(r, group=str(i % 2)) for i, r in enumerate(RECORDS)], "1 patients in the smallest"),
        ([replace(r, choices=(), answer="Open words.") for r in RECORDS], "not one of listed choices"),
        ([replace(r, image=("0.png", "1.png")) for r in RECORDS], "2 images"),
        ([replace(r, split="train") for r in RECORDS], ""),
    ],
    ids=["variants", "words", "one class", "one patient", "ids give labels", "open", "two images", "no held out"],
)
def test_records_that_no_probe_can_read_are_refused_before_a_reply(model, tmp_path, capsys, records, told):
    assert dissect(model, changed(tmp_path, records), "--pairs", "0") == 2
    refused(capsys, told)
    assert not read_replies(tmp_path / "out" / "replies") and not list((tmp_path / "out").rglob("*.npy"))


@pytest.mark.slow
def test_one_variant_of_several_is_dissected(model, tmp_path, capsys):
    folder = changed(tmp_path, [replace(r, variant=f"v{i // 2 % 2}", split="val") for i, r in enumerate(RECORDS)])
    assert dissect(model, folder, "--pairs", "0") == 2, "the cure is followed in the same folder"
    assert dissect(model, folder, "--pairs", "0", "--data.variant", "v1") == 0
    assert " can be read from the tower" in capsys.readouterr().out
    assert len(set(pd.read_parquet(Dissected(tmp_path / "out").answers)["id"])) == 12


def test_a_folder_of_another_model_is_left_as_it_is(folder, out, tmp_path, capsys):
    before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}
    (tmp_path / "second").mkdir()
    assert dissect(write_tiny(tmp_path / "second", "llava", seed=1), folder, "--pairs", "2") == 2
    refused(capsys, "out")
    assert before == {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"out": "full"}, "--out='"),
        ({"task": "glaucma"}, "`--task glaucoma`"),
        ({"options": ["--pairs", "1"]}, "`--out DIR`"),
    ],
    ids=["another folder", "another word", "another option"],
)
def test_errors_name_options_as_they_are_typed(model, folder, out, tmp_path, capsys, given, told):
    """The options of `validate`, which asks, are no options of this command."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").touch()
    options = given.pop("options", ["--pairs", "2"])
    assert dissect(model, folder, *options, **given) == 2
    said = capsys.readouterr().err
    assert told in said and not any(word in said for word in ("--run", "run=", "--data.tasks")), said


def test_a_run_of_another_command_is_left_as_it_is(model, folder, tmp_path, capsys):
    scripted = ["--model", "scripted", "--model.init_args.backend.init_args.text", "GLAUCOMA"]
    named = ["--data.curated", str(folder), "--data.tasks", "glaucoma", "--run", "val", *QUIET]
    assert cli.main(["validate", *scripted, *named]) == 0
    capsys.readouterr()
    assert dissect(model, folder, "--pairs", "0", out="val") == 2
    refused(capsys, "val")
    assert not Dissected(tmp_path / "val").folder.exists()


def test_a_task_class_of_another_module_needs_trust(model, tmp_path, capsys):
    folder = changed(tmp_path, RECORDS)
    own = [replace(hashed(folder, r), task_class="mine.Own") for r in RECORDS]
    write_records(folder / "records" / "glaucoma.parquet", own)
    (tmp_path / "mine.py").write_text("from lmod_train.tasks.glaucoma import Glaucoma\nclass Own(Glaucoma): ...\n")
    assert dissect(model, folder, "--pairs", "0") == 2
    refused(capsys, "mine", "--trust mine")


def test_help_names_its_arguments(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["dissect", "--help"])
    said = capsys.readouterr().out
    assert not ended.value.code and all(f"--{name}" in said for name in ("task", "out", "ceiling", "pairs", "split"))
    assert all(len(line) <= 100 for line in said.splitlines())
