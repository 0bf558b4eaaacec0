"""Attacks on a judge: texts in the place of a reply whose verdict is known, and additions that must not change it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from lmod_train.core.types import Prediction, Record, Score
from lmod_train.core.vocabulary.attacks import ATTACKS, Attack
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.scoring.items import items_of
from lmod_train.scoring.judged import account_scores
from lmod_train.tasks.judgement import Judgement
from lmod_train.tasks.judgement_replies import in_any_language, question_of
from lmod_train.tasks.verdicts import given

ATTACK = "attack"
"""Tag of an attack's record: the name of the attack."""

_PLACE = re.compile(r"\{(question|expected|given|label|other|diagnoses)\}")


class AttackedJudgement(Judgement):
    """Judgement of texts that may mislead a judge (`ATTACKS`): a question for each judged reply and each text.

    Arguments, prompts and the way in which the judge's reply is read are those of `Judgement`. The reference reply is
    the label that the text deserves; of an addition to a reply, whose label is not known, the one of a right reply.

    Example:
        >>> AttackedJudgement().name, len(ATTACKS)
        ('attack', 10)
    """

    name = "attack"
    version = 1

    def records(self, predictions: Iterable[Prediction]) -> list[Record]:
        """Return one record for each prediction and each attack that can be made of it.

        The expected answer in the other language is that of the same question in it, if it is among the predictions, or
        the name of a condition; without either, this attack is left out. Additions are left out for a reply that is not
        sent to judges (see `judgement_replies.given`).
        """
        every = list(predictions)
        others = _in_other_language(every)
        return [record for p in every for record in self._attacks(p, others.get(p.record.id))]

    def _attacks(self, prediction: Prediction, other: str | None) -> Iterator[Record]:
        judged = prediction.record
        places = {"question": question_of(judged), "expected": judged.answer, "given": given(prediction)}
        places |= {"label": self.right[0], "other": other, "diagnoses": _diagnoses(judged.language)}
        for attack in ATTACKS:
            text = _filled(attack.text(judged.language), places)
            if text is not None:
                yield self._attack(judged, attack, text)

    def _attack(self, judged: Record, attack: Attack, text: str) -> Record:
        made, wrong = self.record_of(judged, text), [label for label in self.choices if label not in self.right]
        return replace(
            made,
            id=attack_id(judged.id, attack.name),
            answer=wrong[0] if attack.is_right is False and wrong else self.right[0],
            tags={**made.tags, ATTACK: attack.name},
        )

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return the account of the judge's replies; `lmod_train.scoring.attacks` counts the attacks that succeed."""
        return account_scores(self.name, items_of(predictions, lambda p: p.record.answer))


def attack_id(judged: str, attack: str) -> str:
    """Return the id of an attack in the place of the reply to a record.

    Example:
        >>> attack_id("conversation/talk/1", "praise")
        'attack/conversation/talk/1/praise'
    """
    return f"{AttackedJudgement.name}/{judged}/{attack}"


def attacked_id(attack: Record) -> str:
    """Return the id of the record in the place of whose reply an attack is judged."""
    return attack.id.removeprefix(f"{AttackedJudgement.name}/").removesuffix(f"/{attack.tags[ATTACK]}")


def _filled(text: str, places: Mapping[str, str | None]) -> str | None:
    """Return a text with its places filled, each once; None if one of them has nothing."""
    if any(places[name] is None for name in _PLACE.findall(text)):
        return None
    return _PLACE.sub(lambda place: str(places[place[1]]), text)


def _diagnoses(language: str) -> str:
    """Return the names of all conditions in a language."""
    return "、".join(t.chinese[0] for t in CONDITIONS) if language == "zh" else ", ".join(t.name for t in CONDITIONS)


def _in_other_language(predictions: Sequence[Prediction]) -> dict[str, str]:
    """Return record id -> expected answer in another language, where it is known."""
    answers: dict[str, dict[str, str]] = {}
    for record in (p.record for p in predictions):
        answers.setdefault(in_any_language(record), {})[record.language] = record.answer
    found = {}
    for record in (p.record for p in predictions):
        others = [text for language, text in answers[in_any_language(record)].items() if language != record.language]
        translated = others[0] if others else _translated(record.answer)
        if translated:
            found[record.id] = translated
    return found


def _translated(answer: str) -> str:
    """Return the name of a condition in the other language; empty for any other text.

    Example:
        >>> _translated("Glaucoma."), _translated("白内障"), _translated("A pale disc.")
        ('青光眼', 'cataract', '')
    """
    plain = answer.strip(" .。").casefold()
    english = {term.name.casefold(): term.chinese[0] for term in CONDITIONS}
    return english.get(plain) or next((term.name for term in CONDITIONS if plain in term.chinese), "")
