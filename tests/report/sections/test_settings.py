"""Settings, time, tokens and energy of runs whose replies are known."""

import json
from dataclasses import replace

import pytest
import yaml

from lmod_train.core.artifacts.energy import append_energy
from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.artifacts.run import Run
from lmod_train.report.contents import Text
from lmod_train.report.results import read_results
from lmod_train.report.sections.settings import Settings, setting_rows
from tests.report.make import run

LOCAL = {"do_sample": False, "num_beams": 1, "max_new_tokens": 512}
SENT = {"model": "m", "max_completion_tokens": 300, "top_p": 0.9, "images": {"longest_side": 512}}
OWN = {"generation_config": "model", "max_new_tokens": 64}


def written(folder, settings=None, network=None, **reply):
    run(folder, 0.8)
    held = [
        replace(p, reply=replace(p.reply, settings=json.dumps(settings or {}), **reply))
        for p in read_predictions(Run(folder).predictions)
    ]
    write_predictions(Run(folder).predictions, held)
    if network:
        Run(folder).write_config({"provenance": {"network": network}})
    return folder


def row(folder):
    (found,) = setting_rows(read_results([folder]))
    return found[1:]


def test_settings_of_a_local_model_are_those_that_it_stored(tmp_path):
    network = {"parameters": 7_060_000_000, "resolution": "336 x 336", "tiles": 4}
    *found, why = row(written(tmp_path / "a", LOCAL, network))
    assert found == ["336 x 336", "4", None, "0", "1", "512", 7.06]
    assert why == "top-p: not used by greedy decoding"


def test_settings_of_a_service_are_those_that_were_sent(tmp_path):
    *found, why = row(written(tmp_path / "a", SENT))
    assert found == ["sent: longer side at most 512", None, "0.9", None, None, "300", None]
    assert why.startswith("tiles, temperature, beams: left to the service; parameters: not counted")


def test_what_is_not_stored_is_empty_with_the_reason(tmp_path):
    *found, why = row(written(tmp_path / "a", OWN))
    assert found == [None, None, None, None, None, "64", None]
    assert "top-p, temperature, beams: as the checkpoint's generation_config states" in why
    assert "resolution, tiles: not stored by the run" in why
    *found, why = row(written(tmp_path / "cnn", None, {"parameters": 8_500_000, "resolution": "128 x 128"}))
    assert found == ["128 x 128", None, None, None, None, None, 0.0085]
    assert why.startswith("tiles: its images have none; top-p, temperature, beams, maximum tokens: no settings of")


@pytest.mark.parametrize("settings", ["no JSON", "[1]", '{"num_beams": null}', "[" * 100_000])
def test_settings_that_are_none_are_not_stored(tmp_path, settings):
    folder = run(tmp_path / "a", 0.8)
    held = [replace(p, reply=replace(p.reply, settings=settings)) for p in read_predictions(Run(folder).predictions)]
    write_predictions(Run(folder).predictions, held)
    (folder / "config.yaml").write_text(yaml.safe_dump({"provenance": {"network": [1]}}))
    assert row(folder)[:-1] == [None] * 7


def costs(folder):
    results = read_results([folder])
    parts = list(Settings().parts(results))
    notes = " ".join(part.text for part in parts if isinstance(part, Text))
    return next((p for p in parts if getattr(p, "name", "") == "costs"), None), notes


def test_time_and_tokens_are_sums_over_the_replies_of_a_task(tmp_path):
    found, note = costs(written(tmp_path / "a", seconds=0.5, tokens_in=600, tokens_out=7))
    assert [column.head for column in found.columns][-1] == "tokens out" and "No energy is stored" in note
    assert [list(row[1:]) for row in found.rows] == [
        *([task, 24, 12.0, 0.5, 14_400, 168] for task in ("four_way", "glaucoma", "anatomy")),
        ["all", 72, 36.0, 0.5, 43_200, 504],
    ]


def test_energy_is_that_of_the_replies_with_a_measurement(tmp_path):
    folder = written(tmp_path / "a", seconds=0.5)
    ids = [p.record.id for p in read_predictions(Run(folder).predictions) if p.record.task == "glaucoma"][:4]
    append_energy(folder / "energy" / "rank-0.jsonl", [*ids, "of/another/record"], 5000.0, "H200")
    found, note = costs(folder)
    assert [row[7:] for row in found.rows] == [
        (None, None, None, ""),
        (4, 4.0, 1000.0, "H200"),
        (None, None, None, ""),
        (4, 4.0, 1000.0, "H200"),
    ]
    assert "whole GPU" in note


def test_replies_without_time_and_tokens_have_no_table(tmp_path):
    assert costs(written(tmp_path / "a"))[0] is None
