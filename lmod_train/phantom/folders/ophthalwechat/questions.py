"""Questions of OphthalWeChat about phantoms in Chinese and English, with the truth of what is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.phantom.eye import DIAGNOSES, Eye
from lmod_train.phantom.oct import Scan
from lmod_train.phantom.pair import TwoImages

LANGUAGES = ("zh", "en")

Both = Mapping[str, str]
"""Language -> the same in it."""

CHINESE = {term.name: term.chinese[0] for term in (*CONDITIONS, *STRUCTURES) if term.chinese}
"""Name of the vocabulary -> its first Chinese synonym."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A question about a phantom.

    Attributes:
        task: Task that asks it.
        words: Language -> the question, without options.
        options: Language -> the options in the order of their letters; the two answers of a statement; or none.
        answer: Language -> one of the options, or the open answer.
    """

    task: str
    words: Both
    options: Mapping[str, tuple[str, ...]]
    answer: Both


def name_of(finding: str) -> Both:
    """Return a finding in both languages.

    Example:
        >>> name_of("macular hole")
        {'zh': '黄斑裂孔', 'en': 'macular hole'}
    """
    return {"zh": CHINESE[finding], "en": finding}


def findings_of(drawn: Eye | Scan | TwoImages) -> dict[str, bool]:
    """Return finding -> whether it is drawn, of all findings that an image of this kind can show."""
    if isinstance(drawn, Eye):
        kinds = {lesion.kind for lesion in drawn.lesions}
        diagnoses = {name: drawn.diagnosis == name for name in DIAGNOSES if name != "normal"}
        return diagnoses | {
            "increased cup-to-disc ratio": drawn.cup_to_disc > 0.6,
            "haemorrhages": "haemorrhage" in kinds,
            "hard exudates": "hard exudate" in kinds,
            "soft exudates": "cotton-wool spot" in kinds,
        }
    if isinstance(drawn, Scan):
        return {"macular hole": drawn.width > 0, "intraretinal cysts": bool(drawn.cysts)}
    return {"diabetic retinopathy": drawn.retinopathy, "macular hole": drawn.hole}


def questions_about(drawn: Eye | Scan | TwoImages, number: int, seed: int) -> Iterator[Drawn]:
    """Yield two statements, a single-choice question and an open question about an image.

    Args:
        drawn: What the image shows.
        number: Number of the image; statements are true and false by turns, and so are kinds of open questions.
        seed: Seed of the findings and of the order of options.
    """
    rng = np.random.default_rng([seed, 31, number])
    findings = findings_of(drawn)
    first, is_true, also_true = str(rng.choice([*findings])), number % 8 < 4, number % 8 in (0, 1, 6, 7)
    others = {name: there for name, there in findings.items() if name != first}
    yield _statement(rng, {first: findings[first]}, is_true=is_true)
    yield _statement(rng, others, is_true=also_true)
    options, right = _options(drawn, findings)
    order = rng.permutation(len(options))
    yield Drawn(
        "single_choice_question",
        _WHICH,
        {language: tuple(options[n][language] for n in order) for language in LANGUAGES},
        options[right],
    )
    yield _open(drawn, options[right], number)


_WHICH: Both = {"zh": "下列哪一项最符合图像所见？", "en": "Which of the following best describes the image?"}


def _statement(rng: np.random.Generator, findings: Mapping[str, bool], *, is_true: bool) -> Drawn:
    """Return a statement that one of the findings is there, or that it is not."""
    name = str(rng.choice([*findings]))
    affirms, words = findings[name] == is_true, name_of(name)
    zh = f"图中可见{words['zh']}" if affirms else f"图中未见{words['zh']}"
    en = f"Signs of {words['en']} are visible" if affirms else f"No signs of {words['en']} are visible"
    place = 0 if is_true else 1
    options = {"zh": ("对", "错"), "en": ("True", "False")}
    answer = {language: options[language][place] for language in LANGUAGES}
    return Drawn("binary_question", {"zh": zh, "en": en}, options, answer)


def _options(drawn: Eye | Scan | TwoImages, findings: Mapping[str, bool]) -> tuple[Sequence[Both], int]:
    """Return four options, and the place of the right one."""
    if isinstance(drawn, Eye):
        return [name_of(name) for name in DIAGNOSES], DIAGNOSES.index(drawn.diagnosis)
    (first, first_there), (second, second_there) = findings.items()
    one, other = name_of(first), name_of(second)
    options = [
        {"zh": f"{one['zh']}和{other['zh']}", "en": f"{first} and {second}"},
        {"zh": f"仅{one['zh']}", "en": f"{first} only"},
        {"zh": f"仅{other['zh']}", "en": f"{second} only"},
        {"zh": f"无{one['zh']}，亦无{other['zh']}", "en": f"neither {first} nor {second}"},
    ]
    return options, 2 * (not first_there) + (not second_there)


_STAGES = {"1": "一期", "2": "二期", "3": "三期", "4": "四期"}


def _open(drawn: Eye | Scan | TwoImages, diagnosis: Both, number: int) -> Drawn:
    """Return the open question of an image: side of the disc, diagnosis, stage of a hole or findings."""
    if isinstance(drawn, Eye) and number // 4 % 2 == 0:
        words = {"zh": "视盘位于图像的哪一侧？", "en": "On which side of the image is the optic disc?"}
        answer = {"zh": "左侧", "en": "left"} if drawn.disc[0] < 0.5 else {"zh": "右侧", "en": "right"}
    elif isinstance(drawn, Scan):
        words = {"zh": "黄斑裂孔处于哪一期？", "en": "What is the stage of the macular hole?"}
        stage = drawn.eye.stage
        hole = {"zh": _STAGES[stage], "en": f"stage {stage}"}
        answer = hole if drawn.width > 0 else {"zh": "无黄斑裂孔", "en": "no macular hole"}
    else:
        words = {"zh": "图像所见的诊断是什么？", "en": "What is the diagnosis of the image?"}
        answer = dict(diagnosis)
    return Drawn("open_question", words, dict.fromkeys(LANGUAGES, ()), answer)
