"""The two values of sex in demographic labels and prompts, with synonyms."""

from __future__ import annotations

from lmod_train.core.vocabulary.term import Term

SEXES: tuple[Term, ...] = (
    Term(
        "male", ("man", "men", "boy", "gentleman"), ("男", "男性", "男士", "男人"), "LMOD, LMOD+; BRSET patient_sex 1"
    ),
    Term(
        "female", ("woman", "women", "girl", "lady"), ("女", "女性", "女士", "女人"), "LMOD, LMOD+; BRSET patient_sex 2"
    ),
)
