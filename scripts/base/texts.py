"""Texts without images on which the small base is trained: prompts, vocabulary in two languages, answers to repeat.

A word that never occurs in training has a small embedding, and a tuned model stays unconfident when it uses it. So the
base repeats each word of each task's answers in the requested format, but never in reply to a question of a task.
"""

from __future__ import annotations

import numpy as np

from lmod_train.core.vocabulary.age_groups import AGE_GROUPS
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.findings import FINDINGS
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.core.vocabulary.term import Term
from lmod_train.tasks import age_group, anatomy, conditions, four_way, glaucoma, sex, staging
from lmod_train.tasks.prompt import IMAGE_WORDS

SAY = ("Say: {}", "Repeat: {}", "请重复：{}")


def prompts() -> list[str]:
    """Return the tasks' prompts with all values of their placeholders."""
    kinds = [f"an ophthalmology {word} image" for word in IMAGE_WORDS.values()]
    asked = [glaucoma.PROMPT.replace("<IMAGE TYPE>", kinds[0]), four_way.PROMPT]
    for wording in anatomy.PROMPTS.values():
        for name, options in anatomy.OPTIONS.items():
            kind = anatomy.IMAGE_TYPES.get(name, anatomy.IMAGE_TYPES["CFP"])
            asked.append(wording.replace("<IMAGE TYPE>", kind).replace("<OPTIONS>", ", ".join(options)))
    asked += [conditions.PROMPT.replace("<CONDITION>", f.asked).replace("<SHORT>", f.short) for f in FINDINGS]
    for scale in SCALES:
        asked += [wording.replace("<DISEASE>", scale.disease) for wording in staging.PROMPTS.values()]
    asked += [*sex.PROMPTS.values(), *age_group.PROMPTS.values()]
    return [text.replace("<IMAGE TYPE>", kind) for text in asked for kind in kinds[: 2 if "<IMAGE" in text else 1]]


def answers(rng: np.random.Generator, count: int) -> list[str]:
    """Return answers of all tasks in the requested formats; the choices of a task are equally frequent."""
    levels = [level for scale in SCALES for level in scale.levels]
    words: list[list[str]] = [
        list(glaucoma.ANSWERS.values()),
        [f"DISEASE: {choice}" for choice in four_way.FourWay.choices],
        [f"{f.short} {truth}" for f in FINDINGS for truth in conditions.ANSWERS.values()],
        [f"Stage: {level}" for level in dict.fromkeys(levels)],
        ["Sex: MALE", "Sex: FEMALE"],
        [f"Age Group: {group.label}" for group in AGE_GROUPS],
        [f"Sex/Age group: {s} / {group.label}" for s in ("MALE", "FEMALE") for group in AGE_GROUPS],
    ]
    options = list(anatomy.OPTIONS.values())
    texts = []
    for _ in range(count):
        task = int(rng.integers(len(words) + 6))
        if task < len(words):
            texts.append(str(rng.choice(words[task])))
        else:
            types = rng.choice(options[int(rng.choice(len(options), p=_MOST_SURGERY))], int(rng.integers(1, 7)))
            texts.append("\n".join(f"Region ID: {i}; Type: {t}" for i, t in enumerate(types, 1)))
    return texts


_MOST_SURGERY = (0.5, 0.1, 0.05, 0.15, 0.05, 0.1, 0.05)
"""Weights by modality: surgery has fourteen options, the others two to four."""


def echoes(rng: np.random.Generator, count: int) -> list[tuple[str, str]]:
    """Return (question, answer) pairs that ask to repeat an answer."""
    return [(str(rng.choice(SAY)).format(answer), answer) for answer in answers(rng, count)]


def vocabulary() -> list[str]:
    """Return a few sentences for each word, with its synonyms and translations."""
    sentences: list[str] = []
    for term in (*CONDITIONS, *STRUCTURES):
        sentences += _sentences(term)
    return sentences


def _sentences(term: Term) -> list[str]:
    sentences = [
        f"{term.name}",
        f"What is {term.name}? It is a word of eye care.",
        f"{term.name.upper()}, NON-{term.name.upper()}.",
    ]
    sentences += [f"{other} means {term.name}." for other in term.english]
    sentences += [f"{chinese}的英文是{term.name}。" for chinese in term.chinese]
    return sentences + [f"{term.name} in Chinese: {chinese}." for chinese in term.chinese]
