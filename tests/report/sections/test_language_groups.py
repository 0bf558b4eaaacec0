"""Radar charts of planted accuracies, with grey spokes for few questions."""

import pytest

from lmod_train.report.figures import radar
from lmod_train.report.sections.language_groups import LanguageGroups
from tests.report.bilingual import judge_of, judged_results

PLAN = {
    (task, language): [k % 4 < 2 for k in range(100)]
    for task in ("binary_question", "open_question")
    for language in ("zh", "en")
}


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "planted"
    found = judged_results(folder, PLAN, [judge_of("j", {"zh": 100, "en": 0})])
    return {part.name: part for part in LanguageGroups().parts(found) if hasattr(part, "draw")}


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
    draw = radar._panel

    def spied(axis, own, models):
        draw(axis, own, models)
        colours.update({label.get_text(): label.get_color() for label in axis.get_xticklabels()})

    monkeypatch.setattr(radar, "_panel", spied)
    figure = figures["languages_subspecialty"]
    figure.draw(figure.table, tmp_path)
    assert (tmp_path / "languages_subspecialty.png").stat().st_size > 10_000
    assert colours["retina\nn = 55"] == "black" and colours["cornea\nn = 15"] == radar.GREY
