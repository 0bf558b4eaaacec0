"""Choices in the words of a question of one's own; `?reason` is the reason of an `Unparsed`."""

from __future__ import annotations

from lmod_train.core.types import Reply, Unparsed
from lmod_train.tasks.parsing.own_choice import parse_own
from lmod_train.tasks.parsing.reading import read
from tests.tabled import tabled


def outcome(choices: tuple[str, ...], reply: str) -> object:
    found = read(Reply("a", reply), lambda text, _: parse_own(text, choices), choices)
    return f"?{found.reason}" if isinstance(found, Unparsed) else found


DR = ("DR", "PDR", "no DR")
RIM = ("normal", "abnormal")


@tabled(
    ("choices", "reply", "answer"),
    [
        (DR, "DR", "DR"),  # the vocabulary knows PDR as a kind of DR
        (DR, "PDR", "PDR"),
        (DR, "No DR.", "no DR"),
        (DR, "There are no signs of DR.", "no DR"),
        (DR, "DR is absent.", "no DR"),
        (DR, "It is PDR, not DR.", "PDR"),
        (DR, "not PDR", "?no_match"),  # it may be DR
        (DR, "DR or PDR", "?ambiguous"),
        (DR, "Answer: no DR; Explanation: PDR would bleed.", "no DR"),
        (DR, "Options: DR, PDR, no DR. Answer: PDR", "PDR"),
        (DR, "DR: no\nPDR: yes", "PDR"),
        (DR, "Dr. Li sees nothing", "?no_match"),
        (DR, "A", "?no_match"),  # the prompt shows no letters
        (DR, "2", "?no_match"),
        (("DR", "no DR"), '{"DR": false}', "no DR"),
        (("DR", "normal"), "diabetic retinopathy", "DR"),
        (("DR", "normal"), "proliferative diabetic retinopathy", "DR"),
        (("DR", "normal"), "The optic disc is normal.", "?no_match"),
        (("DR", "normal"), "The fundus is normal.", "normal"),
        (("DR", "diabetic retinopathy"), "DR", "DR"),
        (("DR", "diabetic retinopathy"), "diabetic retinopathy", "diabetic retinopathy"),
        (("glaucoma", "no glaucoma"), "There is no evidence of glaucoma.", "no glaucoma"),
        (("glaucoma", "cataract"), "no glaucoma", "?no_match"),
        (RIM, "abnormal", "abnormal"),
        (RIM, "not normal", "?no_match"),
        (RIM, "normal or abnormal", "?ambiguous"),
        (("mild", "moderate", "mild to moderate"), "mild to moderate", "mild to moderate"),
        (("mild", "moderate", "mild to moderate"), "mild or moderate", "?ambiguous"),
        (("mild", "moderate", "severe"), "mild to moderate", "?ambiguous"),
        (("mild", "moderate", "severe"), "at least moderate", "?ambiguous"),
        (("mild", "moderate", "severe"), '{"severity": "mild"}', "mild"),
        (("A", "A+", "B"), "A+", "A+"),
        (("A", "A+", "B"), "Answer: A", "A"),
        (("A", "A+", "B"), "A patient came.", "?no_match"),
        (("A", "B"), "A+", "?no_match"),
        (("1", "10"), "10", "10"),
        (("1", "10"), "Answer: 1", "1"),
        (("1", "10"), "Grade: 11", "?out_of_range"),
        (("1", "2"), "1 or 2", "?ambiguous"),
        (("Grade 1", "Grade 2", "Grade 10"), "Grade: 2", "Grade 2"),
        (("Grade 1", "Grade 2", "Grade 10"), "grade 10", "Grade 10"),
        (("R0M0", "R1M0"), "r1m0", "R1M0"),
        (("R0M0", "R1M0"), "R2M0", "?no_match"),
        (("yes", "no", "unclear"), "unclear", "unclear"),
        (("yes", "no", "unclear"), "no haemorrhage", "?no_match"),
        (("refer: urgent (1 week)", "refer: routine"), "Answer: refer: routine", "refer: routine"),
        (("Glaukom", "gesund"), "Diagnose: Glaukom", "Glaukom"),
        (("Glaukom", "gesund"), "Kein Glaukom", "?no_match"),
        (("Glaukom", "gesund"), "Ein Glaukom liegt nicht vor.", "?no_match"),
        (("Glaukom", "gesund"), "Verdacht auf Glaukom", "?no_match"),
        (("Glaukom", "gesund"), "Glaukom oder gesund", "?ambiguous"),
        (("Glaukom", "gesund"), '{"Diagnose": "gesund", "Begründung": "Ein Glaukom sieht anders aus."}', "gesund"),
        (("Glaukom", "kein Glaukom"), "Kein Hinweis auf ein Glaukom", "kein Glaukom"),
        (("Ödem", "Gefäßverschluss"), "Oedem", "Ödem"),
        (("Ödem", "Gefäßverschluss"), "GEFAESSVERSCHLUSS", "Gefäßverschluss"),
        (("glaucome", "œil sain"), "Réponse : glaucome", "glaucome"),
        (("glaucome", "œil sain"), "Ce n'est pas un glaucome.", "?no_match"),
        (("retinopatía", "ojo sano"), "Respuesta: retinopatia", "retinopatía"),
        (("retinopatía", "ojo sano"), "No es retinopatía", "?no_match"),
        (("catarata", "glaucoma"), "catarata, não glaucoma", "catarata"),
        (("青光眼", "正常"), "诊断：青光眼", "青光眼"),
        (("青光眼", "正常"), "未见青光眼", "?no_match"),
        (("青光眼", "正常"), "不正常", "?no_match"),
        (("青光眼", "非青光眼"), "非青光眼", "非青光眼"),
        (("possible", "definite"), "possible", "possible"),
        (DR, "It could be DR", "?no_match"),
        (DR, "I cannot tell.", "?refused"),
        (DR, "", "?empty"),
    ],
)
def test_a_choice_is_read_by_the_questions_own_words(choices: tuple[str, ...], reply: str, answer: str) -> None:
    assert outcome(choices, reply) == answer
