import html
import re
from collections import Counter
from dataclasses import replace

import pytest

from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.types import Box, Patient, Region, Unparsed
from lmod_train.report.report import write_report
from lmod_train.report.results import read_outcomes, read_results
from lmod_train.report.sections.metrics import Metrics
from lmod_train.report.viewer import static_pages, viewer
from lmod_train.report.viewer.first_screen import leaderboard
from lmod_train.report.viewer.outcome_text import OUTCOMES, outcome_of
from lmod_train.report.viewer.record_details import groups_of
from lmod_train.report.viewer.texts import Numbered
from lmod_train.report.viewer.viewer import LONGEST, in_order, region_outcomes, shortened, write_viewer
from lmod_train.scoring.chain_steps import STEPS
from lmod_train.scoring.items import Item
from lmod_train.tasks.headline import headline_rows
from tests.report.chained import chain_run, planted
from tests.report.make import curate, run
from tests.report.viewer.read import read_data, rows


@pytest.fixture(scope="module")
def data(three):
    return read_data(three[1])


def test_every_prediction_is_in_the_data_once_with_its_outcome(three, data):
    index, replies, records = data["index"], rows(data, "replies"), rows(data, "records")
    assert len(replies) == len(index["replies"]["model"]) == 3 * 72 and len(records) == 72
    shown = Counter(
        (index["models"][m]["label"], index["records"]["id"][r], index["outcomes"][o])
        for m, r, o in zip(*(index["replies"][name] for name in ("model", "record", "outcome")), strict=True)
    )
    expected = Counter(
        (label, item.id, outcome_of(item))
        for label, folder in zip(("base (untuned)", "base (tuned)", "cnn"), three[0], strict=True)
        for own in read_outcomes(folder).items.values()
        for item in own
    )
    assert shown == expected


def test_replies_and_records_are_those_of_the_runs(three, data):
    index, replies, records = data["index"], rows(data, "replies"), rows(data, "records")
    for number, folder in enumerate(three[0]):
        own = {p.record.id: p for p in read_predictions(folder / "predictions.parquet")}
        for place, (m, r) in enumerate(zip(index["replies"]["model"], index["replies"]["record"], strict=True)):
            if m == number:
                prediction, record = own[records[r]["id"]], records[r]
                assert "".join(replies[place]["pieces"]) == prediction.reply.reply
                assert replies[place]["texts"][replies[place]["rendered"]] == prediction.reply.rendered
                asked = [part.text for m in prediction.record.messages for part in m.parts if part.type == "text"]
                sent = [record["texts"][n] for _, parts in record["messages"] for n in parts]
                assert [text for text in sent if text != "[image]"] == asked


def test_every_prediction_is_on_one_page_without_script(three):
    pages = sorted((three[1] / "pages").iterdir())
    assert [page.name for page in pages] == ["000001.html", "000002.html", "000003.html"]
    texts = [page.read_text() for page in pages]
    cards = [re.findall(r'<h2 dir="auto">(.*?)</h2>\s*<p><span.*?</span> (.*?):', text, re.DOTALL) for text in texts]
    assert [len(found) for found in cards] == [100, 100, 16]
    named = [(label, html.unescape(id)) for found in cards for id, label in found]
    ids = {p.record.id for p in read_predictions(three[0][0] / "predictions.parquet")}
    assert set(named) == {(label, id) for label in ("base (untuned)", "base (tuned)", "cnn") for id in ids}
    assert len(named) == len(set(named))
    assert 'href="000002.html"' in texts[0] and 'href="000001.html"' in texts[1] and "000004" not in texts[2]
    assert not any("<script" in text for text in texts)


def test_a_reply_of_a_megabyte_is_whole_and_folded(tmp_path):
    one = run(tmp_path / "one", 1, n=1)
    long = "<b>loop</b> " * 90_000
    asked = [replace(p, reply=replace(p.reply, reply=long)) for p in read_predictions(one / "predictions.parquet")]
    write_predictions(one / "predictions.parquet", asked)
    write_report([one], tmp_path / "out", sections=[Metrics()])
    page = (tmp_path / "out" / "pages" / "000001.html").read_text()
    shown = re.findall(
        r'class="text reply".*?>(.*?)<details><summary>the other .*?</summary>(.*?)</details>', page, re.S
    )
    assert [html.unescape(first) + html.unescape(rest) for first, rest in shown] == [long] * 3
    assert all(row["pieces"] == [long] for row in rows(read_data(tmp_path / "out"), "replies"))


def test_data_stays_in_small_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(viewer, "SIZE", 7)
    monkeypatch.setattr("lmod_train.report.viewer.viewer.SIZE", 7)
    monkeypatch.setattr(static_pages, "EACH", 5)
    write_report([run(tmp_path / "one", 0.5, n=4)], tmp_path / "out", sections=[Metrics()])
    data = read_data(tmp_path / "out")
    assert [len(data[f"replies-{i}"]["rows"]) for i in range(2)] == [7, 5]
    assert [row["id"] for row in rows(data, "records")] == data["index"]["records"]["id"]
    assert len(list((tmp_path / "out" / "pages").iterdir())) == 3


def test_records_of_one_id_that_differ_are_both_kept(tmp_path):
    one, two = run(tmp_path / "one", 0.5, n=4), run(tmp_path / "two", 0.5, n=4)
    changed = [
        replace(p, record=replace(p.record, answer=p.record.answer + " ")) if i == 0 else p
        for i, p in enumerate(read_predictions(two / "predictions.parquet"))
    ]
    write_predictions(two / "predictions.parquet", changed)
    write_report([one, two], tmp_path / "out", sections=[Metrics()])
    ids = read_data(tmp_path / "out")["index"]["records"]["id"]
    assert len(ids) == 13 and len(set(ids)) == 12


def test_errors_of_an_analysis_are_shown(three, tmp_path):
    outcomes = read_outcomes(three[0][0])
    first = min(p.record.id for p in outcomes.predictions)
    store, pages = _Kept(), _Cards()
    index = write_viewer({"a": outcomes}, {"a": None}, store, pages, {"a": {first: ("loop", "abstention")}})
    assert index.errors.values == ["loop; abstention", ""]
    assert [card.error for card in pages.cards if card.error] == ["loop; abstention"]


class _Kept:
    def add(self, name, value):
        pass

    def image(self, curated, image):
        return None


class _Cards(static_pages.PagesInside):
    pass


def test_no_prediction_leaves_a_page(tmp_path):
    store, pages = _Kept(), _Cards()
    index = write_viewer({}, {}, store, pages)
    assert index.json(250)["replies"]["model"] == [] and pages.cards == []


def test_outcomes_of_regions():
    truth = {1: "iris", 2: "lens", 3: "pupil"}
    item = Item("a", "answered", {1: "iris", 2: "iris", 9: "lens"}, truth)
    assert {id: outcome for id, outcome, _ in region_outcomes(item)} == {
        1: "right", 2: "wrong", 3: "missed", 9: "invented",
    }  # fmt: skip
    unread = replace(item, status="unparsed", answer=Unparsed("no_match"))
    assert {outcome for _, outcome, _ in region_outcomes(unread)} == {"missed"}
    assert {outcome_of(item), outcome_of(unread)} <= set(OUTCOMES)


def test_boxes_are_in_pixels_of_the_curated_image(tmp_path):
    curated = curate(tmp_path / "curated", n=4)
    one = run(tmp_path / "one", 1, n=4, curated=curated)
    asked = [
        replace(p, record=replace(p.record, scale=0.5, regions=(Region("optic disc", Box(10, 20, 31, 40), 1),)))
        if p.record.regions else p
        for p in read_predictions(one / "predictions.parquet")
    ]  # fmt: skip
    write_predictions(one / "predictions.parquet", asked)
    write_report([one], tmp_path / "out", sections=[Metrics()])
    shown = [row for row in rows(read_data(tmp_path / "out"), "records") if row["regions"]]
    assert shown[0]["regions"] == [[1, "optic disc", 5.0, 10.0, 15.5, 20.0]]
    assert (shown[0]["images"][0]["width"], shown[0]["images"][0]["height"]) == (400, 300)


def test_subgroups_are_those_that_a_record_states(three):
    record = read_outcomes(three[0][0]).predictions[0].record
    stated = replace(record, patient=Patient(age=44, sex="F"), tags={"level": "2"}, split="test", language="en")
    assert groups_of(stated) == [("split", "test"), ("language", "en"), ("age", "40-60"), ("sex", "F"), ("level", "2")]


def test_a_long_answer_is_one_short_line():
    assert shortened("a\n b") == "a b"
    assert len(shortened("word " * 10_000)) == LONGEST and shortened("x" * 10**6).endswith("…")


def test_the_leaderboard_has_every_score(three):
    results = read_results(three[0])
    rows = {name: headline_rows([run]) for name, run in zip(results.names, results.runs, strict=True)}
    heads, lines = leaderboard(rows, ["four_way", "glaucoma", "anatomy"])
    assert (heads[0]["task"], heads[0]["name"]) == ("four_way", "Four-way diagnosis")
    assert lines == {label: {row.task: row for row in own} for label, own in rows.items()}
    values = [scores["four_way"].value for scores in lines.values() if "four_way" in scores]
    assert values == sorted(values, reverse=True) and len(values) > 1
    assert Numbered().values == []


def test_a_record_names_its_chain_and_is_filtered_by_its_stage(tmp_path):
    made = run(tmp_path / "run", 0.9, n=4)
    changed = [replace(p, record=replace(p.record, chain="phantoms/1", tags={"stage": "IQA"}))
               for p in read_predictions(made / "predictions.parquet")]  # fmt: skip
    write_predictions(made / "predictions.parquet", changed)
    write_report([made], tmp_path / "out", sections=[Metrics()], keep_names=["phantoms"])
    data = read_data(tmp_path / "out")
    assert {row["chain"] for row in rows(data, "records")} == {"phantoms/1"}
    assert "stage=IQA" in data["index"]["groups"]


def test_the_questions_of_a_chain_are_in_the_order_of_their_stages():
    _, outcomes = chain_run("one", planted([[True] * 6] * 11)[::-1])
    ids = [p.record.id for p, _ in in_order(outcomes)]
    cases = sorted(map(str, range(11)))
    assert ids == [f"chain/phantoms/{case}/{stage}" for case in cases for stage in STEPS]
