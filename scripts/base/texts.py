"""What the small base reads without a picture: prompts, vocabulary in two languages, and answers to say after us.

A word that has never been said has a short embedding, and a tuned reply of such words stays unconfident. So each word
of each task's answers is practised in the form asked for, by repeating it; never in reply to a task's question.
"""

from __future__ import annotations

import numpy as np

from lmod_train.tasks import age_group, anatomy, conditions, four_way, glaucoma, sex, staging
from lmod_train.tasks.prompt import IMAGE_WORDS
from lmod_train.vocabulary.age_groups import AGE_GROUPS
from lmod_train.vocabulary.conditions import CONDITIONS
from lmod_train.vocabulary.findings import FINDINGS
from lmod_train.vocabulary.scales import SCALES
from lmod_train.vocabulary.structures import STRUCTURES
from lmod_train.vocabulary.term import Term

SAY = ("Say: {}", "Repeat: {}", "请重复：{}")


def prompts() -> list[str]:
    """Return the tasks' prompts with their placeholders filled in all ways."""
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
    """Return answers of all tasks in the forms asked for, each choice as often as the others of its task."""
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
    said = []
    for _ in range(count):
        task = int(rng.integers(len(words) + 6))
        if task < len(words):
            said.append(str(rng.choice(words[task])))
        else:
            types = rng.choice(options[int(rng.choice(len(options), p=_MOST_SURGERY))], int(rng.integers(1, 7)))
            said.append("\n".join(f"Region ID: {i}; Type: {t}" for i, t in enumerate(types, 1)))
    return said


_MOST_SURGERY = (0.5, 0.1, 0.05, 0.15, 0.05, 0.1, 0.05)
"""Surgery has fourteen words to choose from, the others two to four."""


def echoes(rng: np.random.Generator, count: int) -> list[tuple[str, str]]:
    """Return (question, answer) pairs that only ask to say an answer again."""
    return [(str(rng.choice(SAY)).format(answer), answer) for answer in answers(rng, count)]


def vocabulary() -> list[str]:
    """Return a few sentences for each word: what it is also called, and how it is written in the other language."""
    sentences: list[str] = []
    for term in (*CONDITIONS, *STRUCTURES):
        sentences += _sentences(term)
    return sentences


def _sentences(term: Term) -> list[str]:
    said = [
        f"{term.name}",
        f"What is {term.name}? It is a word of eye care.",
        f"{term.name.upper()}, NON-{term.name.upper()}.",
    ]
    said += [f"{other} means {term.name}." for other in term.english]
    said += [f"{chinese}的英文是{term.name}。" for chinese in term.chinese]
    return said + [f"{term.name} in Chinese: {chinese}." for chinese in term.chinese]
