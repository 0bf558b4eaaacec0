"""Judges compared with rules on open answers: planted agreement is recovered exactly, in all and in each language."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sklearn.metrics import cohen_kappa_score

from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.types import Reply
from lmod_train.extensions.drafting.judgement import Judgement
from lmod_train.extensions.drafting.judges import Agreement, Judged, rule_verdicts, scores_of_judges
from lmod_train.tasks.bilingual import BinaryQuestion, OpenQuestion
from lmod_train.tasks.conversation import Conversation
from lmod_train.tasks.parsed_replies import parse_replies
from tests.judged import records
from tests.report.bilingual import REFUSAL, judged_results, planted_run, question, right_and_wrong

EXACT_OF = {"zh": [True] * 8 + [False] * 12, "en": [True] * 6 + [False] * 14}
HELD_OF = {"zh": [True] * 12 + [False] * 8, "en": [True] * 16 + [False] * 4}
MORE = {"zh": "可见{}。", "en": "It is {}."}


def said(language: str, k: int) -> str:
    """The reference answer first, then sentences that contain it, then another answer."""
    right, wrong = right_and_wrong("open_question", language, k)
    held = MORE[language].format(right) if HELD_OF[language][k] else wrong
    return right if EXACT_OF[language][k] else held


PLAN = {("open_question", language): [said(language, k) for k in range(20)] for language in ("zh", "en")}


def verdict(language: str, k: int) -> bool:
    """The judge's: right by containment, but for the third question of five."""
    return HELD_OF[language][k] != (k % 5 == 2)


def judge(people: bool = False, name: str = "gpt"):
    def made(predictions):
        ids = {p.record.id: (p.record.language, int(p.record.key)) for p in predictions if isinstance(p.answer, str)}
        found = {id: "TRUE" if verdict(*place) else "FALSE" for id, place in ids.items()}
        return Judged(name, Judgement(), name, ("open_question",), found, 0, people)

    return made


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    """(subset, metric) -> score of a run with a model and a person as judges."""
    folder = tmp_path_factory.mktemp("planted") / "run"
    planted_run(folder, PLAN, judges=(judge(), judge(people=True, name="ada")))
    found = [score for _, _, score in read_scores(folder / "scores.csv")]
    return {(score.subset, score.metric): score for score in found if score.task == "open_question"}


@pytest.mark.parametrize("subset", ["all", "language=zh", "language=en"])
@pytest.mark.parametrize(("rule", "planted"), [("exact", EXACT_OF), ("containment", HELD_OF)])
def test_planted_agreement_with_each_rule_is_recovered_exactly(scores, rule, planted, subset):
    languages = ("zh", "en") if subset == "all" else (subset.partition("=")[2],)
    pairs = [(verdict(language, k), planted[language][k]) for language in languages for k in range(20)]
    ours, rules = [a for a, _ in pairs], [b for _, b in pairs]
    found = {m: scores[subset, f"{m}_judged:gpt:{rule}"] for m in ("agreement", "kappa")}
    assert found["agreement"].value == pytest.approx(sum(a == b for a, b in pairs) / len(pairs), abs=1e-6)
    assert found["kappa"].value == pytest.approx(cohen_kappa_score(ours, rules), abs=1e-6)
    assert {score.n for score in found.values()} == {len(pairs)}
    for metric, kind in (("sensitivity", True), ("specificity", False)):
        score, of_kind = scores[subset, f"{metric}_judged:gpt:{rule}"], [a for a, b in pairs if b is kind]
        assert score.value == pytest.approx(sum(a is kind for a in of_kind) / len(of_kind), abs=1e-6)
        assert score.n == len(of_kind)
        assert (subset != "all") or score.low < score.value < score.high


def test_the_figures_counted_by_hand(scores):
    """Of 20 Chinese answers 8 are exact and 12 contained; the judge differs from containment on 2, 7, 12 and 17."""
    assert scores["language=zh", "agreement_judged:gpt:containment"].value == pytest.approx(16 / 20, abs=1e-6)
    assert scores["language=zh", "sensitivity_judged:gpt:containment"].value == pytest.approx(10 / 12, abs=1e-6)
    assert scores["language=zh", "specificity_judged:gpt:exact"].value == pytest.approx(6 / 12, abs=1e-6)


def test_intervals_are_over_patients_and_not_over_answers():
    """40 answers of four patients, whose verdicts differ by patient, tell less than 40 of 40 patients."""
    made = [question(OpenQuestion(), "en", k) for k in range(40)]
    replies = {r.id: Reply(r.id, right_and_wrong("open_question", "en", k)[0]) for k, r in enumerate(made)}
    own = parse_replies(OpenQuestion(), made, replies)
    ids = {r.id: "TRUE" if k < 30 else "FALSE" for k, r in enumerate(made)}
    spoken = [Judged("gpt", Judgement(), "gpt", ("open_question",), ids, 0, False)]

    def width(group):
        grouped = [replace(p, record=replace(p.record, group=group(k))) for k, p in enumerate(own)]
        found = {s.metric: s for s in scores_of_judges(spoken, grouped, [OpenQuestion()])}
        score = found["agreement_judged:gpt:exact"]
        assert score.value == pytest.approx(0.75)
        return score.high - score.low

    assert width(lambda k: f"g{k // 10}") > 1.5 * width(lambda k: f"g{k}")


def test_people_are_the_reference_of_a_rule(scores):
    """Of 26 answers that the person finds right 23 contain the reference answer."""
    assert scores["all", "sensitivity_judged:containment:ada"].value == pytest.approx(23 / 26, abs=1e-6)
    assert not any(metric.endswith(":ada:containment") for _, metric in scores)


def test_the_table_has_the_rules_with_intervals_beside_the_judges(tmp_path):
    results = judged_results(tmp_path / "run", PLAN, judges=(judge(), judge(people=True, name="ada")))
    (shown,) = [part for part in Agreement().parts(results) if hasattr(part, "rows")]
    pairs = [(row[2], row[3], row[4]) for row in shown.rows if row[2] == "all"]
    assert pairs == [
        ("all", "gpt", "ada"), ("all", "gpt", "exact"), ("all", "gpt", "containment"),
        ("all", "exact", "ada"), ("all", "containment", "ada"),
    ]  # fmt: skip
    assert len({len(row) for row in shown.rows} | {len(shown.columns)}) == 1
    assert [column.head for column in shown.columns].count("95 % interval") == 4


def test_words_decide_and_missing_answers_have_no_verdict():
    made = [question(OpenQuestion(), "en", k) for k in range(3)]
    texts = ["The MACULAR hole.", REFUSAL["en"], "no macular edema"]
    replies = {r.id: Reply(r.id, text) for r, text in zip(made, texts, strict=True)}
    found = rule_verdicts(OpenQuestion(), parse_replies(OpenQuestion(), made, replies))
    assert found == {
        "exact": {made[0].id: True, made[2].id: False}, "containment": {made[0].id: True, made[2].id: True},
    }  # fmt: skip


def test_closed_questions_have_the_parser_and_no_rule_on_words():
    made = question(BinaryQuestion(), "en", 1)
    found = rule_verdicts(BinaryQuestion(), parse_replies(BinaryQuestion(), [made], {made.id: Reply(made.id, "True")}))
    assert found == {"parser": {made.id: True}}


def test_free_text_of_other_tasks_has_the_rules_too():
    made = records(1)
    found = rule_verdicts(Conversation(), parse_replies(Conversation(), made, {made[0].id: Reply(made[0].id, "x")}))
    assert found == {"exact": {made[0].id: False}, "containment": {made[0].id: False}}
