"""Related benchmarks and hyperparameters: printed rows, and rows of folders and runs whose content is known."""

import json
from dataclasses import replace

import pytest

from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.run import Run
from lmod_train.core.types import Box, Region
from lmod_train.extensions.papers.printed import models_of_run, read_table
from lmod_train.extensions.papers.related import Hyperparameters, RelatedBenchmarks
from lmod_train.report.contents import Table, Text
from lmod_train.report.results import Results, read_results
from tests.report.make import run
from tests.scoring.make import record

DISC = (Region("optic disc", Box(0, 0, 9, 9), 1),)


def curated(folder, *made):
    (folder / "records").mkdir(parents=True)
    write_records(folder / "records" / "all.parquet", made)
    return folder


def one(id, task, phantom=False, language="en", **fields):
    return replace(record(id, task=task, **fields), phantom=phantom, language=language)


def related(*folders):
    parts = list(RelatedBenchmarks().parts(Results((), {}, {str(i): folder for i, folder in enumerate(folders)})))
    return {p.name: p.rows for p in parts if isinstance(p, Table)}, parts[0].text


def test_every_printed_row_is_there_without_a_run(tmp_path):
    found, _ = related(tmp_path / "gone", None)
    assert {name: len(rows) for name, rows in found.items()} == {
        "related_lmod_naacl": 11, "related_lmod_plus": 10, "related_ophthalwechat": 8,
    }  # fmt: skip
    assert found["related_lmod_naacl"][-1][1:] == ("LMOD (ours)", *["yes"] * 9)
    assert found["related_ophthalwechat"][-1] == (
        "OphthalWeChat (ours)", 29, "e.g., CFP, SLO, OCT, Slit-lamp, FFA, etc.", 3469, 30120, *["Yes"] * 3,
        "Official WeChat Accounts",
    )  # fmt: skip


def test_the_row_of_a_folder_is_what_its_records_hold(tmp_path):
    made = [
        one("1", "anatomy", regions=DISC, modality="CFP", source="idrid", image="a"),
        one("1", "sex", modality="CFP", source="idrid", image="a", choices=("MALE", "FEMALE")),
        one("2", "open_question", modality="CFP+OCT", source="clinic", image="b", language="zh", choices=()),
    ]
    found, _ = related(curated(tmp_path / "MINE", *made))
    assert found["related_lmod_naacl"][-1] == (
        "here", "MINE", "yes", "yes", "no", "yes", "no", "no", "yes", "yes", None,
    )  # fmt: skip
    assert found["related_ophthalwechat"][-1] == (
        "MINE (here)", 2, "CFP, OCT", 2, 3, "yes", "yes", "yes", "clinic, idrid",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("task", "asked"), [("glaucoma", ("no", "yes")), ("sex", ("no", "no")), ("mine", (None, None))]
)
def test_what_tasks_of_ones_own_ask_cannot_be_told(tmp_path, task, asked):
    found, _ = related(curated(tmp_path / "MINE", one("1", task)))
    assert found["related_lmod_plus"][-1][-2:] == asked


def test_printed_rows_do_not_stand_beside_phantoms(tmp_path):
    found, text = related(curated(tmp_path / "DRAWN", one("1", "anatomy", True)))
    assert [len(rows) for rows in found.values()] == [1, 1, 1] and "phantoms" in text


def asked(folder, model, **settings):
    run(folder, 0.8, model=model)
    network = {"parameters": 7_566_000_000, "resolution": "336 x 336", "tiles": 4}
    Run(folder).write_config({"provenance": {"network": network if "do_sample" in settings else {}}})
    held = [
        replace(p, reply=replace(p.reply, settings=json.dumps(settings)))
        for p in read_predictions(Run(folder).predictions)
    ]
    write_predictions(Run(folder).predictions, held)
    return folder


def hyper(*runs):
    parts = list(Hyperparameters().parts(read_results(runs) if runs else Results((), {}, {})))
    return [row for part in parts if isinstance(part, Table) for row in part.rows], parts


def test_a_run_stands_above_the_printed_row_of_its_model_and_what_differs_is_named(tmp_path):
    local = asked(
        tmp_path / "a", "checkpoints/llava-v1.6-mistral-7b-hf", do_sample=False, num_beams=1, max_new_tokens=64
    )
    (own, printed), _ = hyper(local)
    assert own[1:7] == ("336 x 336", "4", None, "0", "1", "64")
    assert own[-1] == "maximum tokens (64; printed 512); tiles (4; none printed)"
    assert printed == ("LLaVA-M-7B (printed)", "336 x 336", None, "1.0", "0", "1", "512", 7.56, "", "")
    sent = asked(tmp_path / "b", "gpt-4o-2024-11-20", max_tokens=512, temperature=0.0, images={"longest_side": 0})
    (own, printed), _ = hyper(sent)
    assert own[-1] == "resolution (sent: as curated; printed 512 x 512)" and printed[0] == "GPT-4o (printed)"


def test_without_runs_every_row_is_printed_and_another_model_has_none(tmp_path):
    rows, parts = hyper()
    assert len(rows) == 13 and isinstance(parts[0], Text)
    assert hyper(run(tmp_path / "cnn", 0.8, model="cnn")) == ([], [])


def test_every_printed_model_has_a_name_in_all_papers():
    assert all(len(models_of_run(row["model"])) == 1 for row in read_table("hyperparameters"))
