"""What earlier answers of a chain imply for a later question: the options that agree with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lmod_train.tasks.chain.stages import cd, sg
from lmod_train.tasks.chain.stages.stage import stage_named

IMPLIED: Mapping[str, Callable[[Mapping[str, str]], frozenset[str]]] = {"SG": sg.implied, "CD": cd.implied}
"""Stage -> function from earlier answers (stage -> text of the option) to the options that agree with them.

The other stages are not implied by the one before. What an answer implies is stated in the module of each stage."""


def implied_options(step: str, stated: Mapping[str, str], choices: Sequence[str]) -> tuple[str, ...]:
    """Return the choices of a question that agree with earlier answers; empty if these imply none of them.

    Args:
        step: Stage of the question, by any of its names.
        stated: Stage of each earlier answer, by any of its names -> text of the option.
        choices: Texts of the question's options.

    Example:
        >>> implied_options("SG", {"DR": "full-thickness hole"}, ("Gass stage 1", "Gass stage 2"))
        ('Gass stage 2',)
        >>> implied_options("LC", {"AL": "the macular area"}, ("hemorrhage", "drusen"))
        ()
    """
    named = {stage.name: text for name, text in stated.items() if (stage := stage_named(name))}
    stage = stage_named(step)
    found = IMPLIED[stage.name](named) if stage and stage.name in IMPLIED else frozenset()
    return tuple(choice for choice in choices if choice in found)
