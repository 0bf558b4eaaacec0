"""Radar charts of planted accuracies, with grey spokes for few questions."""

import pytest

from lmod_train.extensions.ophthalwechat.sections import _BY
from lmod_train.extensions.ophthalwechat.sections import groups as shown_by
from lmod_train.report.figures import groups
from tests.report.bilingual import judge_of, judged_results

PLAN = {
    (task, language): [k % 4 < 2 for k in range(100)]
    for task in ("binary_question", "open_question")
    for language in ("zh", "en")
}


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "planted"
    found = judged_results(folder, PLAN, [judge_of("j", {"zh": 100, "en": 0})])
    return {part.name: part for part in shown_by(found) if hasattr(part, "name")}


@pytest.fixture(scope="module")
def figures(parts):
    return {name: part for name, part in parts.items() if hasattr(part, "draw")}


def test_every_spoke_is_the_planted_accuracy_with_its_n(figures):
    assert list(figures) == ["languages_subspecialty", "languages_modality"]
    heads = [column.head for column in figures["languages_modality"].table.columns]
    rows = [dict(zip(heads, row, strict=True)) for row in figures["languages_modality"].table.rows]
    found = {(r["panel"], r["group"]): (r["n"], r["score"]) for r in rows}
    assert {panel for panel, _ in found} == {"Binary_CN", "Binary_EN", "Open-ended_CN", "Open-ended_EN"}
    for group, share in {"CFP": 1.0, "OCT": 1.0, "FFA": 0.0, "SLO": 0.0}.items():
        assert found["Binary_CN", group] == found["Binary_EN", group] == (25, share)
        assert found["Open-ended_CN", group] == (25, 1.0) and found["Open-ended_EN", group] == (25, 0.0)
    assert {r["model"] for r in rows} == {"planted", "planted, judged by j"}


def test_spokes_of_few_questions_are_grey(figures, tmp_path, monkeypatch):
    colours = {}
    draw = groups._radar_panel

    def spied(axis, own, models):
        draw(axis, own, models)
        colours.update({label.get_text(): label.get_color() for label in axis.get_xticklabels()})

    monkeypatch.setattr(groups, "_radar_panel", spied)
    figure = figures["languages_subspecialty"]
    figure.draw(figure.table, tmp_path)
    assert (tmp_path / "languages_subspecialty.png").stat().st_size > 10_000
    assert colours["retina\nn 55"] == "black" and colours["cornea\nn 15"] == groups.GREY


def rows_of(found):
    return [dict(zip([column.head for column in found.columns], row, strict=True)) for row in found.rows]


def test_the_tables_have_every_group_with_n_interval_and_a_mark_of_few(parts):
    rows = {(r["subset"], r["group"]): r for r in rows_of(parts["languages_by_subspecialty"])}
    assert [group for subset, group in rows if subset == "Binary_CN"] == ["retina", "cornea", "glaucoma", "uveitis"]
    retina, cornea = rows["Binary_CN", "retina"], rows["Binary_CN", "cornea"]
    assert (retina["n"], retina["note"], cornea["n"], cornea["note"]) == (55, None, 15, "few")
    for subset in ("Binary_CN", "Open-ended_CN"):
        low, high = rows[subset, "retina"]["95 % interval"]
        assert low <= rows[subset, "retina"]["accuracy"] <= high
    assert rows["Open-ended_CN", "retina"]["judged by"] == "j" and rows["Open-ended_EN", "retina"]["accuracy"] == 0
    assert (retina["judged by"], retina["chance"], rows["Open-ended_CN", "retina"]["chance"]) == ("", 0.5, None)


def test_more_groups_than_spokes_are_all_in_the_table(tmp_path, monkeypatch):
    """Thirty modalities of one question or two: a chart of ten, a table of all."""
    monkeypatch.setitem(_BY, "modality", lambda item: f"M{int(item.variant.split('-')[0]) % 30:02}")
    found = judged_results(tmp_path / "planted", {("binary_question", "en"): [True] * 45})
    own = {part.name: part for part in shown_by(found) if hasattr(part, "name")}
    rows = rows_of(own["languages_by_modality"])
    assert len(rows) == 30 and [r["n"] for r in rows] == [2] * 15 + [1] * 15 and {r["note"] for r in rows} == {"few"}
    assert len(own["languages_modality"].table.rows) == 10


def test_two_groups_have_a_table_and_no_chart(tmp_path, monkeypatch):
    monkeypatch.setitem(_BY, "modality", lambda item: "CFP" if "0" in item.variant else "OCT")
    found = judged_results(tmp_path / "planted", {("binary_question", "en"): [True] * 45})
    names = [part.name for part in shown_by(found) if hasattr(part, "name")]
    assert "languages_by_modality" in names and "languages_modality" not in names
