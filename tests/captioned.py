"""Phantom captions with their truth, and a scripted model that writes questions from them with planted faults."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from lmod_train.core.types import Prediction, Record, Reply
from lmod_train.extensions.drafting.caption_steps import (
    FALSE,
    SWAP,
    Drafts,
    Item,
    Settings,
    balanced,
    prepared,
    requests,
    swapped,
    to_swap,
    written,
)
from lmod_train.extensions.drafting.captions import (
    BINARY,
    KINDS,
    OPEN,
    SINGLE_CHOICE,
    Caption,
    CaptionQuestions,
    CaptionRewriting,
    worded,
)
from lmod_train.tasks.base import Task

FINDINGS = {
    "drusen": "玻璃膜疣",
    "a macular hole": "黄斑裂孔",
    "a retinal tear": "视网膜裂孔",
    "cotton wool spots": "棉絮斑",
    "hard exudates": "硬性渗出",
    "a choroidal nevus": "脉络膜痣",
    "vitreous hemorrhage": "玻璃体积血",
    "an epiretinal membrane": "视网膜前膜",
}
PLACES = {"upper temporal": "颞上", "lower temporal": "颞下", "upper nasal": "鼻上", "lower nasal": "鼻下"}
SIDES = {"left": "左", "right": "右"}

FAULTS: Mapping[str, tuple[str, ...]] = {
    "no_translation": KINDS,
    "no_answer": KINDS,
    "answers_differ": (BINARY, SINGLE_CHOICE),
    "three_options": (SINGLE_CHOICE,),
    "equal_options": (SINGLE_CHOICE,),
    "unclear_answer": (BINARY, SINGLE_CHOICE),
    "keyword_en": KINDS,
    "keyword_zh": KINDS,
    "near_duplicate": KINDS,
    "prose": KINDS,
    "marks": KINDS,
    "wrong_finding": (BINARY, OPEN),
}
"""Planted fault -> kinds of question that can have it. The last is a wrong translation, which only a judge can find."""

FOUND_AS: Mapping[str, tuple[str, str]] = {
    "no_translation": ("read", "no_translation"),
    "no_answer": ("read", "no_answer"),
    "answers_differ": ("check", "languages_differ"),
    "three_options": ("read", "options"),
    "equal_options": ("read", "equal_options"),
    "unclear_answer": ("read", "unclear_answer"),
    "keyword_en": ("filter", "keyword"),
    "keyword_zh": ("filter", "keyword"),
    "near_duplicate": ("duplicate", "near_duplicate"),
    "prose": ("read", "no_pair"),
    "marks": ("check", "marks"),
}
"""Planted fault -> step and reason by which it is left out."""

LETTERS = (0.392, 0.440, 0.147, 0.021)
TRUE = 0.712
"""Shares of the paper before it balanced."""


@dataclass(frozen=True)
class Eye:
    """What a phantom's caption states."""

    n: int
    finding: str
    place: str
    side: str

    @property
    def caption(self) -> Caption:
        """Its caption."""
        text = f"Fundus photograph of the {self.side} eye with {self.finding} in the {self.place} quadrant."
        return Caption(f"eye{self.n}", f"images/{self.n}.jpg", text, group=f"p{self.n}", modality="CFP", phantom=True)


def eyes(count: int, seed: int = 0) -> list[Eye]:
    """Return drawn truths."""
    draw = random.Random(seed)
    return [Eye(n, draw.choice([*FINDINGS]), draw.choice([*PLACES]), draw.choice([*SIDES])) for n in range(count)]


def other(finding: str, draw: random.Random) -> str:
    """Return another finding."""
    return draw.choice([name for name in FINDINGS if name != finding])


def halves(eye: Eye, kind: str, draw: random.Random) -> list[str]:
    """Return question and answer in English and Chinese without marks; options are part of the question."""
    where, wo = f"the {eye.place} quadrant of the {eye.side} eye", f"{SIDES[eye.side]}眼{PLACES[eye.place]}象限"
    if kind == BINARY:
        true = draw.random() < TRUE
        finding = eye.finding if true else other(eye.finding, draw)
        shown = [f"There is {finding} in {where}", str(true), f"{wo}有{FINDINGS[finding]}", "对" if true else "错"]
        return shown
    question, frage = f"Which finding is seen in {where}?", f"{wo}可见哪种表现？"
    if kind == OPEN:
        return [question, eye.finding, frage, FINDINGS[eye.finding]]
    place = draw.choices(range(4), LETTERS)[0]
    names = draw.sample([name for name in FINDINGS if name != eye.finding], 3)
    names.insert(place, eye.finding)
    lettered = [f"{a}: {name}" for a, name in zip(ascii_uppercase, names, strict=False)]
    zh = [f"{a}：{FINDINGS[name]}" for a, name in zip(ascii_uppercase, names, strict=False)]
    return [
        f"{question} Choice: {' '.join(lettered)}",
        ascii_uppercase[place],
        f"{frage} {' '.join(zh)}",
        ascii_uppercase[place],
    ]


def planted(texts: Sequence[str], fault: str, draw: random.Random) -> str:
    """Return the reply with these texts and a fault; without one for an empty name."""
    question, answer, frage, antwort = texts
    if fault == "prose":
        return "I am sorry, this text has no lesion to ask about."
    if fault == "answers_differ":
        antwort = {"对": "错", "错": "对", "A": "B", "B": "A", "C": "D", "D": "C"}[antwort]
    if fault == "three_options":
        question = question[: question.index(" D: ")]
    if fault == "equal_options":
        first = question[question.index("A: ") + 3 : question.index(" B: ")]
        question = f"{question[: question.index(' D: ')]} D: {first.upper()}"
    if fault == "unclear_answer":
        answer = "True/False" if answer in ("True", "False") else "E"
    if fault == "keyword_en":
        question = f"Whatever the gender: {question}"
    if fault == "keyword_zh":
        frage = f"儿童{frage}"
    if fault == "marks":
        question = f"<|im_end|> {question}"
    if fault == "wrong_finding":
        now = next(name for name in FINDINGS.values() if name in frage + antwort)
        new = draw.choice([name for name in FINDINGS.values() if name != now])
        frage, antwort = frage.replace(now, new), antwort.replace(now, new)
    en = f"Question: {question}" + ("" if fault == "no_answer" else f", Answer: {answer}.")
    zh = "" if fault == "no_translation" else f"问：{frage}{draw.choice(['：', '，', ' '])}答：{antwort}。"
    reply = f"{en}{draw.choice([' ', chr(10), chr(10) * 2])}{zh}"
    return f"{reply}\n{reply.upper() if 'Choice' not in reply else reply}" if fault == "near_duplicate" else reply


def replies(
    drawn: Sequence[Eye], rate: float, seed: int = 0
) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str], str]]:
    """Return caption and kind -> reply, and caption and kind -> planted fault.

    Args:
        drawn: Truths.
        rate: Share of the replies with each fault, among the kinds that can have it.
        seed: Seed of words and faults.
    """
    draw = random.Random(f"replies {seed}")
    texts, faults = {}, {}
    for eye in drawn:
        for kind in KINDS:
            possible = [name for name, kinds in FAULTS.items() if kind in kinds]
            chance = draw.random()
            fault = possible[int(chance / rate)] if chance < rate * len(possible) else ""
            texts[eye.caption.key, kind] = planted(halves(eye, kind, draw), fault, draw)
            faults |= {(eye.caption.key, kind): fault} if fault else {}
    return texts, faults


def predicted(task: Task, records: Sequence[Record], texts: Mapping[str, str]) -> list[Prediction]:
    """Return the predictions of replies by record id."""
    given = [(record, Reply(record.id, texts[record.id])) for record in records]
    return [Prediction(record, reply, task.parse(reply, record)) for record, reply in given]


def rewritten(
    records: Sequence[Record], drafts: Drafts, settings: Settings, lazy: float = 0.0, seed: int = 0
) -> dict[str, str]:
    """Return record id -> what a model makes of each request: another finding, or two options swapped.

    Args:
        records: The requests.
        drafts: Questions that they are about.
        settings: Of the requests.
        lazy: Share of the statements that it returns as they were.
        seed: Seed of findings and of lazy replies.
    """
    draw = random.Random(f"rewritten {seed}")
    items = {item.id: item for item in drafts.items}
    places = to_swap(drafts.items, settings.seed)
    found = {}
    for record in records:
        id, _, what = f"{record.key}/{record.chain_step}".rpartition("/")
        item = items[id]
        if what == FALSE:
            found[record.id] = altered(item, draw) if draw.random() >= lazy else _stated(item)
        else:
            language = what.removeprefix(f"{SWAP}-")
            found[record.id] = worded(swapped(item.pair.halves[language], places[id]), language)
    return found


def _stated(item: Item) -> str:
    return f"Question: {item.pair.en.question}\n问：{item.pair.zh.question}"


def altered(item: Item, draw: random.Random) -> str:
    """Return a statement with another finding in both languages."""
    now = next(name for name in sorted(FINDINGS, key=len, reverse=True) if name in item.pair.en.question)
    new = other(now, draw)
    zh = next(name for name in FINDINGS.values() if name in item.pair.zh.question)
    return _stated(item).replace(now, new).replace(zh, FINDINGS[new])


def made(
    count: int, rate: float, settings: Settings, lazy: float = 0.0, seed: int = 0
) -> tuple[Drafts, dict[tuple[str, str], str]]:
    """Return the questions of phantom captions after all steps but the review, and the planted faults."""
    drawn = eyes(count, seed)
    captions = {eye.caption.key: eye.caption for eye in drawn}
    task, rewriting = CaptionQuestions(), CaptionRewriting()
    records = task.records(captions.values())
    texts, faults = replies(drawn, rate, seed)
    by_id = {record.id: texts[record.key, record.chain_step] for record in records}
    before = prepared(written(predicted(task, records, by_id), captions), settings)
    asked = requests(before, captions, settings)
    answers = predicted(rewriting, asked, rewritten(asked, before, settings, lazy, seed))
    return balanced(before, settings, answers), faults


def is_mistranslated(item: Item) -> bool:
    """Return whether the findings of a statement or an open question differ between its languages."""
    en, zh = ({*half.texts} - {*half.options} for half in (item.pair.en, item.pair.zh))
    stated = {FINDINGS[name] for name in FINDINGS if any(name in text for text in en)}
    return item.kind != SINGLE_CHOICE and stated != {
        name for name in FINDINGS.values() if any(name in text for text in zh)
    }


def judged(item: Item, sensitivity: float, specificity: float, seed: int = 0) -> bool:
    """Return whether a scripted judge says that both languages of a question are the same.

    Args:
        item: A question.
        sensitivity: Probability that it calls a mistranslated question different.
        specificity: Probability that it calls another question the same.
        seed: Seed of its errors.
    """
    chance = random.Random(f"judged {seed} {item.id}").random()
    return chance >= sensitivity if is_mistranslated(item) else chance < specificity
