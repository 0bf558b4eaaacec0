"""Check that measurements and counts in a draft are those of the boxes."""

from __future__ import annotations

from decimal import Decimal

from lmod_train.tasks.drafting.drafted import Drafted
from lmod_train.tasks.drafting.meaning import counts_in, numbers_in


def other_numbers(one: Drafted) -> list[str]:
    """Return the measurements and counts of right option and long answer that the facts do not contain.

    A measurement is a number with a unit (percent, disc diameters, clock hour, ratio, mm, um); it agrees with a fact
    of the same unit that rounds to it. Doses and times are not measured in the image and not compared. A count is
    compared if the structure has boxes.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> boxes = {"optic cup": "1 box; left of the image; vertical cup-to-disc ratio 0.58"}
        >>> answer = "Primary diagnosis: glaucoma, as the ratio is 0.6 and the cup 0.4 mm wide."
        >>> other_numbers(drafted("DD", boxes=boxes, answer=answer))
        ['0.4 mm']
    """
    given = f"{one.draft.right}\n{one.draft.answer}"
    known = "\n".join([one.facts.truth, *one.facts.earlier.values(), *one.facts.boxes.values(), *one.truths.values()])
    facts = numbers_in(known)
    others = [f"{n} {unit}" for n, unit in sorted(numbers_in(given)) if not any(_fits(n, unit, f) for f in facts)]
    return others + [f"{n} {name}" for n, name in sorted(counts_in(given, one.facts.boxes)) if n != _boxes(one, name)]


def _fits(number: str, unit: str, fact: tuple[str, str]) -> bool:
    digits = Decimal(1).scaleb(-len(number.partition(".")[2]))
    return unit == fact[1] and abs(Decimal(number) - Decimal(fact[0])) <= digits / 2


def _boxes(one: Drafted, name: str) -> int:
    return int(one.facts.boxes[name].split()[0])
