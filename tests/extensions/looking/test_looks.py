"""Verdicts in a sentence, the eye that is shown, and contact sheets of variants."""

from dataclasses import replace

from lmod_train.extensions.looking.results import SHEET, contact_sheets, looks_of, one_eye, sentence
from lmod_train.extensions.looking.scores import AGAIN, AS_IS, asked_of
from tests.extensions.looking.test_grounding_scoring import SHOWN, disc, replied, words
from tests.extensions.looking.test_looking_sections import TASK, planted, results
from tests.report.scored import scored
from tests.scoring.make import record

assert planted  # a fixture


def test_the_sentence_names_each_answer_and_few_models(planted):
    looks = looks_of(planted)
    told = sentence(looks, TASK.name)
    assert told.startswith("Does it look? words: does not look (GLAUCOMA), does not look (NON-GLAUCOMA); border: ")
    assert told.endswith("1 more below.") and "disc" not in told
    assert sentence(looks, "glaucoma") == "" == sentence({}, TASK.name)
    assert looks_of(scored({})) == {}


def test_the_page_begins_with_the_verdict():
    from lmod_train.report.viewer.first_screen import first_screen

    (finding,) = first_screen(results(disc=disc)).findings
    told = "looks at the evidence (GLAUCOMA: specific effect +100 points, grounded share 100 %)"
    assert f"{told}, cannot be told (NON-GLAUCOMA: removal leads to NON-GLAUCOMA)." in finding.text
    assert "100.0 %" in finding.text


def test_the_eye_is_one_that_the_first_model_answers_rightly():
    wrong_first = replied(lambda at, truth, shown: "GLAUCOMA" if at < 15 else truth, 20)
    asked = {"a": asked_of(wrong_first), "b": asked_of(replied(words, 20)), "none": []}
    records = {i.id: replace(record(i.id, image=f"{i.variant}.jpg"), id=i.id) for i in wrong_first}
    rows = one_eye(asked, records)
    assert {row[3] for row in rows} == {"a", "b"} and len(rows) == 2 * (len(SHOWN) - 1)
    chosen = next(a for a in asked["a"] if a.shown[AS_IS].id == rows[0][0])
    assert chosen.truth == rows[0][4] == str(chosen.shown[AS_IS].answer)
    assert [row[1] for row in rows if row[3] == "a"] == [name for name in SHOWN if name != AGAIN]
    assert one_eye({"none": []}, {}) == []


def test_a_sheet_a_task_of_the_images_with_the_most_variants():
    def one(at, shown):
        return replace(
            record(f"{at}/{shown}", task="glaucoma_grounding", image=f"{at}-{shown}.jpg"), variant=shown, key=str(at)
        )

    records = [one(at, shown) for at in range(9) for shown in (AS_IS, AGAIN, "blank")[: 2 if at < 4 else 3]]
    (table,) = contact_sheets([*records, record("x", image="x.jpg")])
    assert table.name == "variants-glaucoma_grounding" and len({row[0] for row in table.rows}) == SHEET
    assert [row[1] for row in table.rows] == [AS_IS, "blank"] * SHEET
    assert {row[3] for row in table.rows} == {""}
