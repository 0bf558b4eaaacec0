"""Replies in which a heading, a mark, a column or a number governs names, each with what an ophthalmologist reads.

Written without a look at the parsers. A row is drawn by a family, a function of a random generator; every layout has
its denying and its asserting counterpart. Layouts whose reading is open to doubt (an untouched check box alone, "Ruled
out: No", a cross in a column "Absent") are left out. Words and layouts are those of `governed.toml`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

from tests.tasks.parsing.grids import NAMES, ZH_NAME

w = SimpleNamespace(**tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")))
POLAR: dict[str, dict[str, Any]] = dict(w.ASKED)
"""Question of yes or no -> its names in both languages, and its answers for yes and for no."""
for finding, _ in NAMES:
    english = list(dict.fromkeys((finding.short, finding.condition)))
    own = {"en": english, "zh": [ZH_NAME[finding.condition]], "answers": ["TRUE", "FALSE"]}
    POLAR[f"conditions {finding.condition}"] = own


class Row(NamedTuple):
    """A reply to the question `ask`, the right `answer` (None: there is none), its group and the asked name's place."""

    ask: str
    reply: str
    answer: Any
    kind: str
    at: int = 0


class Case(NamedTuple):
    """A question, its language, a name in it, what a denial and an assertion of it answer, and the other names."""

    ask: str
    language: str
    name: str
    no: str | None
    yes: str
    siblings: tuple[str, ...] = ()

    def row(self, reply: str, polarity: str, kind: str, at: int = 0) -> Row:
        """Return a reply that asserts the name (yes), denies it (no) or leaves it open."""
        return Row(self.ask, reply, {"yes": self.yes, "no": self.no}.get(polarity), f"{kind}.{polarity}", at)


def language_for(ask: str) -> str:
    return "zh" if ask in w.CHINESE else "en"


def language_of(text: str) -> str:
    return "zh" if any("一" <= sign <= "鿿" for sign in text) else "en"


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


def case_of(rng: Random, polar: bool = False) -> Case:
    """Return a question of a name: of yes or no (always, if `polar`) or of one of several choices."""
    language = rng.choice(("en", "zh"))
    if polar or rng.random() < 0.7:
        ask = rng.choice([ask for ask in POLAR if POLAR[ask][language]])
        name, (yes, no) = rng.choice(POLAR[ask][language]), POLAR[ask]["answers"]
        return Case(ask, language, rng.choice((name, capital(name))), no, yes)
    ask = rng.choice([ask for ask in w.CHOICE if w.CHOICE[ask].get(language)])
    answers = w.CHOICE[ask][language]
    name = rng.choice(tuple(answers))
    return Case(ask, language, name, None, answers[name], tuple(other for other in answers if other != name))


def others(rng: Random, case: Case, number: int, but: list[str] | None = None) -> list[str]:
    """Return names that say nothing of the asked one, none of them in `but`."""
    english = dict(zip(w.OTHERS["zh"] + w.COMMON["zh"], w.OTHERS["en"] + w.COMMON["en"], strict=True))
    pool = w.OTHERS[case.language] + ([] if case.siblings else w.COMMON[case.language])
    known = {name.lower() for of in ("en", "zh") for name in POLAR.get(case.ask, {of: [case.name]}).get(of, [])}
    known |= set(case.siblings) | {*w.RELATED.get(case.ask, ())}
    free = [name for name in pool if not {name, name.lower(), english.get(name, name)} & known]
    return rng.sample(free, number) if but is None else [name for name in rng.sample(free, 9) if name not in but]


def items_of(rng: Random, case: Case, with_name: bool = True) -> tuple[list[str], int]:
    """Return one to six names and the place of the asked one (from 1)."""
    number = rng.randint(1, 6)
    items, at = others(rng, case, number), rng.randrange(number)
    return [case.name if with_name and i == at else item for i, item in enumerate(items)], at + 1


def joined(rng: Random, items: list[str], language: str) -> str:
    """Return names on one line."""
    if len(items) > 1 and rng.random() < 0.3:
        last = rng.choice(w.AND[language])
        return f"{rng.choice(w.COMMAS[language][:-1]).join(items[:-1])}{last}{items[-1]}"
    return str(rng.choice(w.COMMAS[language])).join(items)


def table(rng: Random, header: list[str], rows: list[list[str]]) -> str:
    """Return a table of text, with or without bars at its sides."""
    bare = len(header) > 1 and all(row[0] and row[-1] for row in rows) and rng.random() < 0.2
    lines = [" | ".join(line) for line in (header, ["---"] * len(header), *rows)]
    return "\n".join(lines if bare else (f"| {line} |" for line in lines))


def listed(rng: Random, polarity: str, items: list[str], language: str, parted: bool = False) -> tuple[str, str]:
    """Return a heading of a polarity with its list, and the name of the layout; `parted` keeps to layouts of lines."""
    sentence, colon = rng.random() < 0.35, w.SIGN[language].strip()
    heading = rng.choice(w.HEADINGS[polarity][language]["sentences" if sentence else "nouns"])
    style = rng.choice(("bullets", "numbers", "line", "line", "plain", "nested", "table", "cell"))
    if style in ("table", "cell") and (sentence or parted):
        style = "bullets"
    if style == "table":
        return table(rng, [heading], [[item] for item in items]), style
    if style == "cell":
        return table(rng, w.HEADS["list"][language], [[heading, joined(rng, items, language)]]), style
    heads = [form.format(h=heading, c=colon) for form in (w.LINE_HEADS if style == "line" else w.LIST_HEADS)]
    if not sentence and style not in ("plain", "line"):
        heads += [heading, heading.upper()]
    head, sign = rng.choice(heads), rng.choice("-*•")
    if style == "line":
        end = rng.choice(("", w.STOP[language]))
        return f"{head}{w.SIGN[language][1:]}{joined(rng, items, language)}{end}", style
    if style == "nested":
        return "\n".join([f"{sign} {head.lstrip('# ')}", *(f"  {sign} {item}" for item in items)]), style
    marks = {"bullets": f"{sign} ", "plain": ""}
    body = "\n".join(f"{marks.get(style, f'{i}. ')}{item}" for i, item in enumerate(items, 1))
    return f"{head}{rng.choice((chr(10), chr(10) * 2))}{body}", style


def list_one(rng: Random) -> Row:
    """A heading over a list, with or without a sentence before it or a paragraph behind it."""
    case, polarity = case_of(rng), rng.choice(("no", "yes", "no", "yes", "open"))
    items, at = items_of(rng, case)
    text, style = listed(rng, polarity, items, case.language)
    before = [rng.choice(w.NEUTRAL[case.language])] * (rng.random() < 0.2)
    behind = [rng.choice(w.NEUTRAL[case.language])] * (rng.random() < 0.2)
    return case.row("\n\n".join((*before, text, *behind)), polarity, f"list.{style}", at)


def list_two(rng: Random) -> Row:
    """A denying and an asserting list in either order, the asked name in one of them."""
    case, polarity = case_of(rng), rng.choice(("no", "yes"))
    items, at = items_of(rng, case)
    rest = others(rng, case, 9, but=items)[: rng.randint(1, 4)]
    if case.siblings and polarity == "yes":
        rest[0] = rng.choice(case.siblings)
    pair = [(polarity, items), ("no" if polarity == "yes" else "yes", rest)]
    rng.shuffle(pair)
    state, parts = rng.getstate(), []
    for one, names in pair:
        rng.setstate(state)  # the same layout twice, as a model writes
        parts.append(listed(rng, one, names, case.language, parted=True)[0])
    return case.row(rng.choice(("\n\n", "\n")).join(parts), polarity, "list.two", at)


def list_behind(rng: Random) -> Row:
    """A list whose verdict comes behind it."""
    case, polarity = case_of(rng), rng.choice(("no", "yes"))
    items, at = items_of(rng, case)
    items += others(rng, case, 9, but=items)[: max(0, 2 - len(items))]
    verdict = rng.choice(w.BEHIND[polarity][case.language])
    if rng.random() < 0.5:
        text = f"{joined(rng, items, case.language)}{w.SIGN[case.language]}{verdict}"
    else:
        sign = rng.choice(("- ", "* ", "• ", ""))
        text = "\n".join(f"{sign}{item}" for item in items) + rng.choice(("\n", "\n\n")) + verdict
    return case.row(capital(text), polarity, "list.behind", at)


def list_then(rng: Random) -> Row:
    """A list of other names under a heading, then a paragraph that states something of the asked one."""
    case, polarity = case_of(rng), rng.choice(("no", "yes"))
    items, _ = items_of(rng, case, with_name=False)
    text, _ = listed(rng, "no" if case.siblings else rng.choice(("no", "yes", "open")), items, case.language)
    said = capital(rng.choice(w.STATED[polarity][case.language]).format(n=case.name))
    return case.row(f"{text}\n\n{said}", polarity, "list.then")


def marked(rng: Random, pairs: list[tuple[str, str]], language: str) -> tuple[str, str]:
    """Return names with their marks in some layout, and its name."""
    box, bracket = (any(mark[0] in signs for _, mark in pairs) for signs in ("[", "(（"))
    how = rng.choice(w.BOXED if box else w.BRACKETED if bracket else w.MARKED)
    if how in ("cell", "cell_before"):
        turn = 1 if how == "cell" else -1
        return table(rng, w.HEADS["mark"][language][::turn], [[*pair][::turn] for pair in pairs]), how
    if how == "across":
        return table(rng, [name for name, _ in pairs], [[mark for _, mark in pairs]]), how
    form = "{n} {m}" if bracket else rng.choice(w.FORMS[how][language])
    parts = [form.format(n=name, m=mark) for name, mark in pairs]
    if how.startswith("line"):
        return rng.choice(w.BETWEEN[language]).join(parts), how
    sign = "- " if box else rng.choice(("", "- ", "* "))
    return "\n".join(sign + part for part in parts), how


def framed(rng: Random, text: str, language: str, yes: str = "", no: str = "") -> str:
    """Return marks with or without a sentence or a legend before them."""
    chance = rng.random()
    if chance < 0.3:
        return f"{rng.choice(w.INTRO[language])}\n{rng.choice(('', chr(10)))}{text}"
    return f"{w.LEGEND[language].format(yes=yes, no=no)}\n\n{text}" if chance < 0.4 and yes else text


def said_of(rng: Random, items: list[str], at: int, polarity: str) -> list[bool]:
    """Return which of some names are asserted: the asked one by the polarity, the others by chance."""
    return [polarity == "yes" if i == at else rng.random() < 0.5 for i in range(1, len(items) + 1)]


def mark_polar(rng: Random) -> Row:
    """Each of some names with its own mark, and the question asks for one of them."""
    case, polarity = case_of(rng, polar=True), rng.choice(("no", "yes"))
    items, at = items_of(rng, case)
    box = rng.random() < 0.25
    yes, no = rng.choice(w.BOXES if box else w.MARKS + w.SIGNS)
    said = said_of(rng, items, at, polarity)
    if box and not any(said):  # an empty form answers nothing
        items, said = [*items, others(rng, case, 9, but=items)[0]], [*said, True]
    text, how = marked(rng, [(item, yes if one else no) for item, one in zip(items, said, strict=True)], case.language)
    return case.row(framed(rng, text, case.language, yes, no), polarity, f"mark.{'box' if box else how}", at)


def mark_choice(rng: Random) -> Row:
    """Every choice of a question with its mark: one ticked, or none, or several."""
    ask = rng.choice(tuple(w.OPTIONS))
    language, options = w.OPTIONS[ask].values()
    ticked = [rng.randrange(len(options))]
    if rng.random() < 0.3:
        ticked = rng.choice(([], [*range(len(options))]))
    yes, no = rng.choice(w.BOXES + w.MARKS)
    form = rng.choice(("{name}", "{letter}. {name}", "{letter}") if options[0][1] == "A" else ("{name}",))
    names = [form.format(name=name, letter=chr(65 + i)) for i, (name, _) in enumerate(options)]
    pairs = [(name, yes if i in ticked else no) for i, name in enumerate(names)]
    if form == "{letter}" and yes[0] != "[" and rng.random() < 0.5:
        text = "".join(f"{name}（{mark}）" for name, mark in pairs)
    else:
        text, _ = marked(rng, pairs, language)
    text = framed(rng, text, language)
    if len(ticked) != 1:
        return Row(ask, text, None, "mark.choice.all_or_none")
    return Row(ask, text, options[ticked[0]][1], "mark.choice.one", ticked[0] + 1)


def column(rng: Random) -> Row:
    """A table with a column, two columns or a row of a polarity."""
    how, polarity, case = rng.choice(("one", "two", "row")), rng.choice(("no", "yes")), case_of(rng)
    language, (items, at) = case.language, items_of(rng, case)
    yes, no = rng.choice(w.WORDS[language] + w.MARKS[:4])
    said = [one and (not case.siblings or i == at) for i, one in enumerate(said_of(rng, items, at, polarity), 1)]
    sides = {side: rng.choice(w.COLUMNS[side][language]) for side in ("yes", "no")}
    shown = rng.sample(("yes", "no"), 2 if how == "two" else 1)
    empty = rng.choice(("", no)) if how == "two" else no
    if shown == ["no"] and True in said:  # "Ruled out: No" and a cross under "Absent" are open
        (yes, empty), sides["no"] = rng.choice(w.WORDS[language]), rng.choice(w.ABSENT[language])
    lines = [[rng.choice(w.HEADS["column"][language]), *(sides[side] for side in shown)]]
    for item, one in zip(items, said, strict=True):
        lines += [[item, *(yes if (side == "yes") == one else empty for side in shown)]]
    if how == "row":
        lines = [list(line) for line in zip(*lines, strict=True)]
    elif how == "one" and rng.random() < 0.3:
        places = [w.NOTE[language], *rng.choices(w.PLACES[language], k=len(items))]
        lines = [[*line, place] for line, place in zip(lines, places, strict=True)]
    text = framed(rng, table(rng, lines[0], lines[1:]), language)
    return case.row(text, polarity, f"column.{how}{f'.{shown[0]}' if how != 'two' else ''}", at)


def percent(rng: Random) -> str:
    """Return a share in one of its writings."""
    return str(rng.choice(w.SHARES))


def numbers(rng: Random, case: Case, shares: tuple[int, ...] = (1, 3, 20, 60, 95)) -> tuple[str, str, int]:
    """Return names with numbers, the layout and the asked name's place; `shares` are those of a sentence."""
    items, at = items_of(rng, case)
    how = rng.choice(("sentence", "colon", "list", "json", "object", "map", "table"))
    if how == "sentence":
        return rng.choice(w.CHANCES[case.language]).format(n=case.name, p=f"{rng.choice(shares)}%"), how, 1
    if how == "table":
        return table(rng, rng.choice(w.SCORE_HEADS[case.language]), [[item, percent(rng)] for item in items]), how, at
    if how in ("json", "object", "map"):
        key, score = rng.choice(w.KEYS)
        pairs = [(item, rng.choice(w.FLOATS)) for item in ([case.name] if how == "object" else items)]
        objects = [{key: name, score: value} for name, value in pairs]
        value = {"json": objects, "object": objects[0], "map": dict(pairs)}[how]
        return json.dumps(value, ensure_ascii=False), how, at if how != "object" else 1
    form = rng.choice((f"{{n}}{w.SIGN[case.language]}{{p}}", "{n} ({p})", "{n} - {p}"))
    parts = [form.format(n=name, p=percent(rng)) for name in items]
    if how == "colon":
        return w.COMMAS[case.language][-2].join(parts), how, at
    return "\n".join(f"- {part}" for part in parts), how, at


def number_alone(rng: Random) -> Row:
    """Names with numbers and no statement."""
    if rng.random() < 0.15:
        ask = rng.choice(w.RATED)
        names = [f"Stage {value}" if ask in w.STAGES else value for value in w.VALUES[ask]][:5]
        return Row(
            ask,
            rng.choice((", ", "\n")).join(f"{x}{w.SIGN[language_for(ask)]}{percent(rng)}" for x in names),
            None,
            "number.values",
        )
    case = case_of(rng)
    text, how, at = numbers(rng, case)
    return Row(case.ask, text, None, f"number.{how}", at)


def line_of(rng: Random, ask: str, answer: Any) -> str:
    """Return an answer in the requested format."""
    if isinstance(answer, dict):
        return "\n".join(f"Region ID: {i}; Type: {name}" for i, name in answer.items())
    why = "" if ask in w.STAGES else rng.choice(("", "; Explanations: as seen in the image"))
    if ask in POLAR and ask != "own_yes":
        return f"{'' if ask == 'glaucoma' else POLAR[ask]['en'][0].upper() + ' '}{answer}{why}"
    return f"{w.FIELDS[ask]}: {answer}{why}" if ask in w.FIELDS else f"{w.ANSWER[language_for(ask)]}{answer}"


def line(rng: Random) -> Row:
    """Return a question of any task with an answer in the requested format and nothing else."""
    ask = rng.choice((*w.VALUES, *POLAR))
    values = POLAR[ask]["answers"] if ask in POLAR else w.VALUES[ask]
    answer = rng.choice(values)
    if ask.startswith("anatomy"):
        answer = {str(i): rng.choice(values) for i in range(1, rng.randint(2, 5))}
    return Row(ask, line_of(rng, ask, answer), answer, "line")


def beside(rng: Random, case: Case, answer: str | None, text: str, between: str) -> tuple[Row, str]:
    """Return a text before or behind an answer in the requested format, and where the answer is."""
    parts = [line_of(rng, case.ask, answer), text]
    where = "first" if rng.random() < 0.6 else "last"
    return Row(case.ask, between.join(parts if where == "first" else parts[::-1]), answer, ""), where


def number_line(rng: Random) -> Row:
    """Names with numbers beside an answer in the requested format."""
    case = case_of(rng)
    answer = rng.choice((case.yes, case.no)) or case.yes
    text, how, at = numbers(rng, case, (85, 95) if answer == case.yes else (1, 3, 20))
    if how == "table":
        text = rng.choice((text, f"{w.TITLE[case.language]}\n\n{text}"))
    row, where = beside(rng, case, answer, text, "\n\n")
    return row._replace(kind=f"number_line.{how}.{where}", at=at)


def prefix(rng: Random) -> Row:
    """A neutral prefix before an answer in the requested format."""
    (ask, text, answer, *_), which = line(rng), rng.choice(w.PREFIXES)
    if isinstance(answer, dict) and rng.random() < 0.5:
        text = "\n".join(f"{i}. {name}" for i, name in answer.items())
        which = which if which not in ("1. ", "1) ", "• ") else "Here you go: "
    elif ask == "age_group" and rng.random() < 0.4:
        text = f"Group {w.VALUES[ask].index(answer) + 1}: {answer}; Explanations: as seen in the image"
    return Row(ask, which + text, answer, f"prefix.{which.strip()}")


def eyes(rng: Random) -> Row:
    """Both eyes, with the same finding or another."""
    ask, same = rng.choice([*(name for name in POLAR if name != "own_yes"), "four_way", *w.STAGES]), rng.random() < 0.5
    one, two = rng.sample(POLAR[ask]["answers"] if ask in POLAR else w.VALUES[ask], 2)
    form, of_one = rng.choice(w.OF_EYES), "Stage {}" if ask in w.STAGES else "{}"
    if ask.startswith("conditions"):
        of_one = POLAR[ask]["en"][0] + rng.choice((" {}", ": {}"))
    right, left = rng.choice(w.EYES)
    form = form.replace(": ", w.SIGN[language_of(right)])
    text = form.format(right, of_one.format(one), left, of_one.format(one if same else two))
    return Row(ask, text, one if same else None, f"other.eyes.{'same' if same else 'differ'}")


def aside(rng: Random) -> Row:
    """Another person, time, eye or possibility, alone or beside an answer in the requested format."""
    case = case_of(rng)
    while case.ask not in w.DISEASES:
        case = case_of(rng)
    which = rng.choice(tuple(w.ASIDES[case.language]))
    said = rng.choice(w.ASIDES[case.language][which]).format(n=case.name, d=others(rng, case, 1)[0])
    if rng.random() < 0.5:
        return Row(case.ask, said, None, f"other.{which}.alone")
    other = rng.choice([*w.CHOICE[case.ask][case.language].values()]) if case.siblings else case.no
    row, _ = beside(rng, case, rng.choice((case.yes, other)), said, rng.choice(("\n", "\n\n")))
    return row._replace(kind=f"other.{which}.line")


FAMILIES: tuple[Callable[[Random], Row], ...] = (
    list_one, list_one, list_one, list_two, list_behind, list_then, mark_polar, mark_polar, mark_choice, column, column,
    number_alone, number_line, prefix, eyes, aside,
)  # fmt: skip
"""Each with its share of the rows: a function that stands twice counts twice."""


def is_doubtful(row: Row) -> bool:
    """Return whether a reply denies only some choices of a question that may be answered with none."""
    return row.ask == "own_several" and row.answer is None and row.kind.startswith(("list", "column"))


def rows(number: int, seed: int) -> Iterator[Row]:
    """Return rows, every family in turn."""
    rng = Random(seed)
    return islice((row for family in cycle(FAMILIES) if not is_doubtful(row := family(rng))), number)


def swap_of(rng: Random) -> list[Row]:
    """Return a reply and its opposite, in which only the words of the answer differ: first yes, then no."""
    if rng.random() < 0.1:
        ask = rng.choice(tuple(w.VERDICTS))
        layout, pair = rng.choice(w.VERDICTS[ask]["layouts"]), rng.choice(w.VERDICTS[ask]["pairs"])
        answers = zip(pair, w.VALUES[ask], strict=True)
        return [Row(ask, layout.replace("{v}", word), answer, f"swap.{ask}.{layout}") for word, answer in answers]
    case = case_of(rng, polar=True)
    some = rng.choice(w.SWAPS[case.language])
    layout, pair = rng.choice(some["layouts"]), rng.choice(some["pairs"])
    if rng.random() < 0.3:
        pair = [word.upper() for word in pair]
    rest = [(name, rng.choice(pair)) for name in others(rng, case, rng.randint(0, 3) * (layout in w.ROWS))]
    at = rng.randint(0, len(rest))
    many = [[*rest[:at], (case.name, word), *rest[at:]] for word in pair]
    texts = ["\n".join(layout.replace("{x}", name).replace("{v}", said) for name, said in names) for names in many]
    answers = (case.yes, case.no)
    return [Row(case.ask, text, x, f"swap.{layout}", at + 1) for text, x in zip(texts, answers, strict=True)]


def neutral_of(rng: Random) -> tuple[Row, Row]:
    """Return a reply that has an answer, and the same reply after a change that says nothing."""
    row = line(rng) if rng.random() < 0.5 else rng.choice(FAMILIES)(rng)
    if row.answer is None:
        row = line(rng)
    of_a_line = not set(row.reply) & set("\n*|[") and row.reply[0] not in "-•#{<"
    which = rng.choice([name for name in w.CHANGES if of_a_line or name not in w.OF_A_LINE])
    reply = rng.choice(w.CHANGES[which][language_of(row.reply)]).replace("{}", row.reply)
    return row, row._replace(reply=reply, kind=f"neutral.{which}")
