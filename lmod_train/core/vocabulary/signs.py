"""Signs of a disease in an image, and what is said of the same parts of a healthy eye."""

from __future__ import annotations

from dataclasses import dataclass

from lmod_train.core.vocabulary import rows


@dataclass(frozen=True, slots=True)
class Signs:
    """Signs of a disease.

    Attributes:
        condition: Name in `CONDITIONS` or `STRUCTURES`.
        english: Signs, as phrases (see `lmod_train.core.vocabulary`).
        chinese: The same in Chinese.
        healthy_en: Phrases of the affected part without the disease.
        healthy_zh: The same in Chinese.
    """

    condition: str
    english: tuple[str, ...]
    chinese: tuple[str, ...]
    healthy_en: tuple[str, ...] = ()
    healthy_zh: tuple[str, ...] = ()


SIGNS = rows("signs.signs", Signs)
