"""Each benchmark from its raw folders to the report with the paper's tables, by the commands of the documentation.

The folders are drawn, of all sources, and without the note that marks phantoms: they stand for the real ones, so that
the printed numbers stand beside the run. Every reply is right, so that each score is known.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from lmod_train import cli
from lmod_train.core.types import Batch, Reply
from lmod_train.core.vocabulary.phantoms import NOTE
from lmod_train.models.backends.scripted import Scripted

pytestmark = pytest.mark.slow


class Named(Scripted):
    """A model of a paper that always answers rightly."""

    def __init__(self, model: str) -> None:
        super().__init__(text="{answer}")
        self.model = model

    def respond(self, batch: Batch) -> list[Reply]:
        return [replace(reply, model=self.model) for reply in super().respond(batch)]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("benchmarks")
    assert cli.main(["phantom", "--out", str(folder / "RAW"), "--n", "24", "--sources", "all"]) == 0
    for note in folder.glob(f"RAW/**/{NOTE}"):
        note.unlink()
    return folder


def reported(here: Path, protocol: str, config: str, report: str, model: str) -> Path:
    """Curate, ask a model of the papers and report, as a user types it; return the report."""
    backend = {"class_path": f"{__name__}.Named", "init_args": {"model": model}}
    module = {"class_path": "lmod_train.models.modules.frozen.Frozen", "init_args": {"backend": backend}}
    (here / f"{protocol}.yaml").write_text(yaml.safe_dump(module), encoding="utf-8")
    curated, run, out = (str(here / f"{protocol}_{kind}") for kind in ("curated", "run", "report"))
    typed = [
        ["curate", "--config", protocol, "--raw", str(here / "RAW"), "--out", curated],
        ["validate", "--config", config, "--model", str(here / f"{protocol}.yaml"), "--data.curated", curated,
         "--data.split", "all", "--run", run],
        ["report", run, "--config", report, "--out", out],
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LMOD's split by image warns, as it should
        assert [cli.main(command) for command in typed] == [0, 0, 0]
    return Path(out)


def rows(report: Path, name: str) -> list[dict[str, str]]:
    with (report / "tables" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


LLAVA, GPT = "llava-1.5-7b-hf", "gpt-4o-2024-11-20"
ANATOMY = {f"anatomy {metric}": "1.000" for metric in ("precision", "recall", "F1", "HR")}
PAPERS = {
    "lmod_naacl": ("zero_shot", "lmod", LLAVA, {
        "lmod_table_2": {**ANATOMY, "glaucoma": "100", "macular hole stage": "100"},
    }),
    "lmod_v1": ("zero_shot", "lmod", LLAVA, {
        "lmod_v1_table_3": {**ANATOMY, "glaucoma": "100", "macular hole stage": "100", "age": "100", "sex": "100"},
        "lmod_v1_table_4": dict.fromkeys(("age", "sex", "macular hole stage", "glaucoma"), "0"),
    }),
    "lmod_plus": ("zero_shot", "lmod_plus", LLAVA, {
        "lmod_plus_table_3": {**ANATOMY, **dict.fromkeys(
            ("binary diagnosis", "multi-class diagnosis", "sex", "age"), "1.000")},
        "lmod_plus_table_4": dict.fromkeys(("overall", "SS", "OCT", "SLO", "LP", "CFP"), "1.000"),
        "lmod_plus_table_5": {f"{scale} {stage}": "1.000" for scale in ("OIMHS", "ICDR", "SDRG") for stage in (1, 4)},
        "lmod_plus_table_7": {f"anatomy {m}": "1.000" for m in ("macro_avg", "SS", "CFP")} | {"glaucoma": "1.000"},
    }),
    "xpcr": ("xpcr", "xpcr", LLAVA, {
        "xpcr_table_2": dict.fromkeys(("IQA", "AL", "LC", "DD", "SG", "CD", "CCR"), "100"),
        "xpcr_table_4": dict.fromkeys(("IQA", "AL", "LC", "DD", "SG", "CD"), "100"),
    }),
    "ophthalwechat": ("ophthalwechat", "ophthalwechat", GPT, {
        "ophthalwechat_table_1b": {
            f"{kind} {language}": "1.000" for kind in ("Binary", "Single-choice") for language in ("CN", "EN")},
        "ophthalwechat_table_1c": {"BLEU-1": "1.000"},
        "ophthalwechat_table_1d": {"BLEU-1": "1.000"},
    }),
}  # fmt: skip
"""Protocol -> experiment, report, model, and the cells of the run in each of the paper's tables."""


@pytest.mark.parametrize("protocol", PAPERS)
def test_from_the_raw_folders_to_the_tables_of_the_paper(here: Path, protocol: str):
    config, report, model, tables = PAPERS[protocol]
    out = reported(here, protocol, config, report, model)
    for name, cells in tables.items():
        of_run = [row for row in rows(out, name) if row["state"] == "measured here"]
        printed = [row for row in rows(out, name) if row["state"] != "measured here"]
        assert {row["model"] for row in of_run} == {model} and len(printed) >= 1, name
        for column, value in cells.items():
            assert {float(row[column]) for row in of_run} == {float(value)}, (name, column)
    relations = rows(out, "ledger")
    assert {row["run"] for row in relations} == {model}
    assert all(int(row["same"]) == 0 for row in relations), "no printed model is always right"


@pytest.mark.parametrize(
    ("protocol", "others"),
    [("lmod_naacl", {"LMOD": set(), "LMOD v1": {"macular_hole_stage"}}),
     ("lmod_v1", {"LMOD": {"macular_hole_stage"}, "LMOD v1": set()}), ("lmod_plus", {"LMOD+": set()})],
)  # fmt: skip
def test_the_words_of_a_protocol_are_those_of_its_paper(here: Path, protocol: str, others: Mapping[str, set[str]]):
    out = reported(here, protocol, *PAPERS[protocol][:3])
    refused = rows(out, "ledger_refused")
    for paper, tasks in others.items():
        own = [row for row in refused if row["where"].startswith(f"{paper}, ")]
        assert {row["task"] for row in own if "asked in other words" in row["differs"]} == tasks
    counted = {(row["modality"], row["source"]): row for row in rows(out, "images_and_boxes")}
    assert counted["CFP", "idrid"]["images"] == "18", "without the six of part A"
    assert any("idrid 498 fewer" in row["differs"] for row in refused)
    assert sum(int(row["printed images"]) for (_, source), row in counted.items() if source != "all") == 21933
