"""Probes from the raw folder to the report: records without an image pass every station that others pass."""

import csv
import re
import shutil
from collections import Counter
from dataclasses import replace

import pytest
import torch
import yaml

from lmod_train.cli import experiment
from lmod_train.core.artifacts.manifest import read_manifest, write_json
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.backends.scripted import Scripted
from lmod_train.models.chat.adapters import Lora
from lmod_train.models.chat.decoding import Decoding, respond
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.models.modules.frozen import Frozen
from lmod_train.report.report import write_report
from lmod_train.report.sections.scores import Scores
from lmod_train.tasks.conversation import Conversation
from lmod_train.tasks.rescore import rescore
from lmod_train.training.callbacks.generation import GenerationEval
from tests.data.curation.cases import SETTINGS, Changed, N
from tests.data.curation.probe import Without
from tests.data.curation.world import Folders
from tests.tiny import trainer

KINDS = ("none", "another", "foreign")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twelve photographs, half of them to train on, each asked about three times."""
    root = tmp_path_factory.mktemp("probes")
    source = Folders.write(root / "raw", 12)
    options = {"longest_side": 48, "workers": 1, "progress": False}
    curate([source], [Without()], root / "curated", ratios=(0.5, 0.5, 0), **options)
    return root / "curated"


@pytest.fixture(scope="module")
def records(folder):
    return read_records(folder / "records")


def kind(record):
    return record.id.rpartition("/")[2]


def data(folder, **options):
    return RecordsDataModule(folder, [Without()], eval_batch_size=5, batch_size=4, split="all", **options)


def test_every_record_is_batched_once_whatever_it_shows(folder, records, tmp_path):
    quick, seen = trainer(tmp_path, callbacks=[GenerationEval()]), []

    class Watch(Frozen):
        def respond(self, batch):
            seen.append([(r.id, kind(r)) for r in batch.records])
            return super().respond(batch)

    quick.validate(Watch(Scripted(text="{answer}")), datamodule=data(folder), verbose=False)
    assert Counter(i for batch in seen for i, _ in batch) == Counter(r.id for r in records)
    assert any(len({k for _, k in batch}) == 3 for batch in seen), (
        "what shows an image and what shows none travel mixed"
    )
    assert all(len(batch) <= 5 for batch in seen)
    replies = read_replies(tmp_path / "replies")
    assert {i: r.reply for (i, *_), r in replies.items()} == {r.id: r.answer for r in records}


def test_a_language_model_reads_text_alone_and_mixed(folder, records, tiny):
    from lmod_train.models.chat.checkpoint import load
    from lmod_train.models.chat.dialect import Dialect

    dialect, network = Dialect(tiny), load(tiny).eval()
    ask = lambda some: respond(network, dialect, dialect(some, folder), Decoding(3), "tiny")  # noqa: E731
    records = [r for k in KINDS for r in [s for s in records if kind(s) == k][:2]]
    mixed = dialect(records, folder)
    assert [bool(rows) for rows in mixed.images_of] == [kind(r) != "none" for r in records]
    assert len(mixed.images) == len({r.image for r in records if r.image})
    for record, prompt in zip(records, mixed.rendered, strict=True):
        assert prompt.count(dialect.processor.image_token) == (kind(record) != "none") and "Glaucoma?" in prompt
    together = {r.id: (r.reply, r.tokens_in) for r in ask(records)}
    assert together == {r.id: (r.reply, r.tokens_in) for one in records for r in ask([one])}
    bare = [r for r in records if kind(r) == "none"]
    assert not dialect(bare, folder).images
    assert len({together[r.id] for r in bare}) == 1 < len({together[r.id] for r in records})


@pytest.mark.parametrize("lora", [None, Lora(4, 8, 0.0)])
def test_a_model_learns_from_a_batch_without_any_image(folder, records, tiny, lora):
    module = VisionLanguageModel(str(tiny), lora=lora)
    module.configure_model()
    bare, seen = ([r for r in records if (kind(r) == "none") is b][:3] for b in (True, False))
    losses = []
    for batch in (bare, seen, [*bare, *seen]):
        loss = module.loss(module.collate(batch, folder))
        assert torch.isfinite(loss)
        losses.append(loss.item())
    assert losses[2] == pytest.approx((losses[0] + losses[1]) / 2, rel=1e-4)


@pytest.fixture(scope="module")
def validated(folder, tmp_path_factory):
    """The run of a scripted model that was asked all probes by the command."""
    run = tmp_path_factory.mktemp("validated") / "run"
    task = {"class_path": "tests.data.curation.probe.Without", "init_args": {"kinds": list(KINDS)}}
    scripted = {"class_path": "lmod_train.models.backends.scripted.Scripted", "init_args": {"text": "{answer}"}}
    model = {"class_path": "lmod_train.models.modules.frozen.Frozen", "init_args": {"backend": scripted}}
    config = run.parent / "probe.yaml"
    quiet = {"enable_progress_bar": False, "logger": False, "accelerator": "cpu", "strategy": "auto"}
    parts = {"model": model, "data": {"curated": str(folder), "tasks": [task], "split": "all"}, "trainer": quiet}
    config.write_text(yaml.safe_dump(parts))
    experiment.run(["validate", "--config", str(config), "--run", str(run)])
    return run


def test_the_page_shows_no_image_where_none_was_shown(records, validated, tmp_path):
    assert {p.record.id for p in read_predictions(validated / "predictions.parquet")} == {r.id for r in records}
    few = {"trust": ["tests.data.curation.probe"], "sections": [Scores()]}
    write_report([validated], tmp_path / "out", keep_names=["folders", "foreign"], **few)
    text = (tmp_path / "out" / "pages" / "000001.html").read_text()
    cards = {re.search(r">(glaucoma_probe/\S+)</h2>", part)[1]: part for part in text.split("<article")[1:]}
    assert set(cards) == {r.id for r in records} and "Image not found" not in text
    for record in records:
        card = cards[record.id]
        assert card.count("<img") == (kind(record) != "none")
        assert ("asked without an image" in card) == (kind(record) == "none")
        assert "Glaucoma?" in card


def test_the_page_says_whose_images_must_stay(folder, validated, tmp_path):
    few = {"trust": ["tests.data.curation.probe"], "sections": [Scores()]}
    text = write_report([validated], tmp_path / "out", **few).read_text()
    assert "must stay on this machine" in text and "folders (ODbL)" in text and "foreign (" not in text
    manifest = read_manifest(folder)
    manifest["foreign"] |= {"redistributable": False, "licence": "not known"}
    for name in ("records", "images"):
        (tmp_path / "own").mkdir(exist_ok=True)
        shutil.copytree(folder / name, tmp_path / "own" / name)
    write_json(tmp_path / "own" / "manifest.json", manifest)
    text = write_report([validated], tmp_path / "again", tmp_path / "own", **few).read_text()
    assert "folders (ODbL)" in text and "foreign (not known)" in text


def test_tags_and_combined_modalities_are_subsets_of_the_scores_file(source, tmp_path):
    def talk(sample):
        kept = [q for q in sample.asked if not q.chain_step or q.chain_step == "IQA"]
        return replace(sample, asked=tuple(replace(q, task="conversation") for q in kept))

    curate([Changed(source.root, talk)], [Conversation()], tmp_path / "curated", **SETTINGS)
    records = read_records(tmp_path / "curated" / "records")
    quick = trainer(tmp_path / "run", callbacks=[GenerationEval()])
    asked = RecordsDataModule(tmp_path / "curated", [Conversation()], eval_batch_size=5, split="all")
    quick.validate(Frozen(Scripted(text="{answer}")), datamodule=asked, verbose=False)
    rescore(tmp_path / "run", tasks=[Conversation()])
    with (tmp_path / "run" / "scores.csv").open(newline="") as file:
        rows = {r["subset"]: r for r in csv.DictReader(file) if r["metric"] == "exact_match"}
    counts = {"all": len(records), "level=R": N} | {f"modality={m}": n for m, n in (("CFP", N), ("CFP+OCT", 16))}
    assert {k: int(rows[k]["n"]) for k in counts} == counts
    assert all(float(rows[k]["value"]) == 1 for k in counts)
    read = read_predictions(tmp_path / "run" / "predictions.parquet")
    assert {p.record.id: (p.record.tags, p.confidence) for p in read} == {r.id: (r.tags, None) for r in records}
