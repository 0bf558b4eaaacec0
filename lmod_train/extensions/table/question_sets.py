"""Sets of questions, in the layouts that the field publishes: rows that are questions, and conversations.

`import` and `curate --table` take the same files; what a file holds decides who reads it.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmod_train.cli.curation import print_copies, print_drops
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Dropped
from lmod_train.data.cells.options import (
    OPTIONS,
    answer_in,
    cells_of,
    counted,
    letters_in,
    listed_options,
    meant,
    naming,
    options_of,
)
from lmod_train.data.cells.values import ids_in_doubt
from lmod_train.data.cells.vocabulary import HEADERS, WEAK, bare, plain
from lmod_train.data.curation.accepted import Refusal, read_accepted, refused
from lmod_train.data.curation.manifest_files import write_dropped
from lmod_train.data.sources.grid import Grid
from lmod_train.data.sources.objects import HELD, MOST_BYTES, is_conversation, is_parquet, objects_in, unpack
from lmod_train.extensions.table.law import LISTING, TENTH, Loss
from lmod_train.extensions.table.looks import AGREED
from lmod_train.extensions.table.meanings import FACTS, Column, option_of, typed, value_of

if TYPE_CHECKING:
    from lmod_train.data.formats.conversations import Conversations


ORIGIN = ("name", "licence", "redistributable", "modality", "accept")

SETTINGS = ("ratios", "longest_side", "seed", "workers")

_OF_TABLES = ("value", "ask", "sheet", "visits", "page", "plan", "long", "balance", "grounding")


def is_conversed(given: Mapping[str, Any]) -> bool:
    """Turn a file of conversations into records; False for another file.

    Args:
        given: Options of `import` or of `curate --table`.

    Raises:
        BadArgument: An option was typed that a file without columns cannot take.
    """
    if not holds_conversations(given["table"]):
        return False
    column: list[str] = given["column"] or []
    named = [text.partition("=")[2] for text in column if text.startswith("patient=")]
    others = [text for text in column if not text.startswith("patient=")] or named[1:]
    for option, value in {**{name: given.get(name) for name in _OF_TABLES}, "column": others}.items():
        if value:
            expected = f"nothing for {given['table'].name}, which holds conversations, and no columns but a patient's"
            raise BadArgument(f"--{option}", value, expected, "`--column patient=FIELD`, or leave it out")
    converse(given, "".join(named) or given.get("patient", ""), bool(named))
    return True


_TURNS = re.compile(r'"(?:conversations|conversatons|messages)"\s*:\s*\[')


def holds_conversations(file: Path) -> bool:
    """Return whether a file holds conversations, by the keys of its objects; False for one that cannot be read."""
    from lmod_train.core.raw import decoded, open_file, read_bytes

    try:
        if file.is_dir() or is_parquet(file):
            return is_conversation(next(objects_in(file), None))
        with open_file(file, MOST_BYTES) as opened:
            begins = opened.read(64).lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")[:1]
        return begins in (b"[", b"{") and _TURNS.search(decoded(read_bytes(file, MOST_BYTES))) is not None
    except (OSError, ValueError):
        return False


def converse(given: Mapping[str, Any], patient: str, believed: bool) -> None:
    """Turn a file of conversations into records, and print what was written and what was left out.

    Args:
        given: Options of `import` or of `curate --table`.
        patient: Field of an item with the patient.
        believed: Whether the numbers of patients are used even where they look wrong.
    """
    from lmod_train.core.files import remove
    from lmod_train.core.lock import locked
    from lmod_train.data.curation.pipeline import check_out
    from lmod_train.data.formats.conversations import Conversations, held_images, import_conversations

    file, out, accept = given["table"], given["out"], given["accept"]
    patient = patient or _patient_in(next(objects_in(file), None))
    source = given["name"] or re.sub(r"\W|^(?=\d)", "_", file.stem)
    folder = given["images"] or (file if file.is_dir() else file.parent)
    origin = (given["licence"] or "not stated", given["redistributable"], given["modality"], given["language"] or "en")
    talks = Conversations(file, folder, source, *origin, patient)
    talks.verify()
    refusal = MostItems(accepted=read_accepted(accept) if accept else Counter(), source=talks, believed=believed)
    with locked(out, "--out"):
        check_out(out)
        talks.held = unpack(out / HELD, held_images(objects_in(file)))
        command = shlex.join(["python", "-m", "lmod_train", *sys.argv[1:]])
        settings: dict[str, Any] = {name: given[name] for name in SETTINGS}
        settings |= {"refusal": refusal, "command": command, "progress": sys.stderr.isatty()}
        manifest = import_conversations(talks, out, **settings)
    remove(out / HELD)
    print_copies(manifest, out)
    for task, counts in manifest["counts"].items():
        parts = ", ".join(f"{part} {c['records']}" for part, c in counts.items()) or "none"
        print(f"{task}: {sum(c['records'] for c in counts.values())} records ({parts}){_RULES.get(task, '')}")
    print_drops(out)
    print(f"wrote {out / 'manifest.json'}")


def _patient_in(item: Any) -> str:
    """Return the field of an item that is named like a patient, as that of a table; empty without one."""
    fields = item if isinstance(item, Mapping) else {}
    found = next((name for name in fields if plain(name) in HEADERS["patient"] and name != "id"), "")
    if found:
        print(f"patients by {found}; `--patient NAME` names another field")
    return found


_RULES = {
    "yes_no_conversation": ", whose whole answer is yes or no; scored by accuracy",
    "choice_conversation": ", whose words list options; scored by accuracy",
}


@dataclass(frozen=True)
class MostItems(Refusal):
    """Refuses a file of conversations of which more than a tenth cannot be used, before its images are read and after.

    Attributes:
        source: The file.
        believed: Whether the numbers of patients are used even where they look wrong.
    """

    source: Conversations = None  # type: ignore[assignment]  # the fields of the base have defaults
    believed: bool = False

    def raise_before(self, dropped: Sequence[Dropped], out: Path) -> None:
        """Check what cannot be read.

        Raises:
            Loss: It is too much; ``losses.csv`` in `out` lists what.
            BadArgument: The numbers of patients look wrong.
        """
        if not self.believed and (wrong := ids_in_doubt(self.source.people)):
            cure = f"correct them, or `{typed(option_of('patient', self.source.patient))}` if they are right"
            raise BadArgument("--patient", self.source.patient, f"a field of patients ({wrong})", cure)
        self.raise_for(dropped, out / LISTING)

    def raise_for(self, dropped: Sequence[Dropped], listing: Path) -> None:
        """Check what is lost, with the images that could not be read.

        Raises:
            Loss: It is too much.
        """
        new = [one for one in refused(dropped, self.accepted) if one.extent == "gone"]
        if len(new) > TENTH * self.source.items:
            reasons = ", ".join(f"{reason} {n}" for reason, n in Counter(one.reason for one in new).most_common())
            lines = [f"{len(new)} of {self.source.items} items are not read ({reasons})"]
            file = listing.with_name(LISTING)
            write_dropped(file, dropped, {self.source.name: self.source.root})
            lines.append(f"the first: {new[0].key}: {new[0].detail}")
            raise Loss(lines, file, "conversations of the file")


# Rows that are questions: which column is the question, which its options, and which its answer.
def asking_columns(grid: Grid, stated: Mapping[str, str]) -> dict[str, Column]:
    """Return the columns of a table of questions by name; none of another table, nor those that the user states.

    Raises:
        BadArgument: No column can be the answer, or none the options that answers name by their letters.
    """
    questions = [n for n in grid.header if meant(n, "question", stated) and any(grid.column(n))]
    if not questions:
        _check_unasked(grid, stated)
        return {}
    questions.sort(key=lambda n: n not in stated)
    rows = options_of(grid, _letters(grid, stated))
    found = {n: Column(n, m, "by its name") for m in _BESIDE for n in grid.header if meant(n, m, stated)}
    found |= {n: Column(n, "own", f"{questions[0]} is the question") for n in questions}
    found[questions[0]] = Column(questions[0], "question", "by its name")
    found |= {n: Column(n, "option", "by its name") for n in _letters(grid, stated)}
    free = [n for n in grid.header if n not in found and n not in stated and n != grid.images]
    if not any(rows) and (listing := _listing(grid, free)):
        doubt = "whether its cells list the options of each question"
        return found | {listing: Column(listing, "ignore", "", doubt=doubt, options=(option_of("options", listing),))}
    told = [n for n in grid.header if stated.get(n) == "answer"]
    others = {n: Column(n, "own", f"{told[0]} is the answer") for n in free if told and meant(n, "answer", {})}
    found |= others if told else _answer(grid, rows, free)
    answers = told or [n for n, c in found.items() if c.meaning == "answer"]
    named = [cell.strip().upper() for n in answers for cell in grid.column(n) if cell.strip()]
    letters = [cell for cell in named if cell in OPTIONS]
    if not any(rows) and len({*letters}) > 1 and len(letters) * 2 > len(named):
        expected = f"columns of options ({', '.join(grid.header)[:200]}), as the answers in {answers[0]} are letters"
        cure = "`--column options=NAME` if one of them lists the options"
        raise BadArgument("--table", str(grid.path), expected, cure)
    return found


def _check_unasked(grid: Grid, stated: Mapping[str, str]) -> None:
    """Refuse a table with options and answers of which no column is called a question.

    Raises:
        BadArgument: It is one, and the user has not said to read it without its questions.
    """
    letters = _letters(grid, stated)
    called = [name for name in grid.header if bare(name) in HEADERS["answer"] and name not in stated]
    if len(letters) < 2 or any(bare(name) in HEADERS["question"] for name in grid.header):
        return
    if any(naming(grid.column(name), options_of(grid, letters)) >= AGREED for name in called):
        expected = f"a column with the questions of its options and answers: {', '.join(grid.header)[:200]}"
        cure = f"`--column question=NAME`, or `--column ignore={called[0]}` to read it without them"
        raise BadArgument("--table", str(grid.path), expected, cure)


_SAMPLED = 1000
"""Rows by which a column of options is recognised."""

_BESIDE = ("category", "hint", "options")


def _letters(grid: Grid, stated: Mapping[str, str]) -> dict[str, str]:
    """Return column -> letter of the columns of options; of one that the user states without a letter, its name."""
    named = letters_in(grid.header)
    default = dict.fromkeys(named, "option")
    return {n: named.get(n, n) for n in grid.header if (default | {**stated}).get(n) == "option"}


def _listing(grid: Grid, free: Sequence[str]) -> str:
    """Return the column whose cells list options of which another column names one; empty for none."""
    grid = replace(grid, rows=grid.rows[:_SAMPLED])
    for name in free:
        listed = [one if isinstance(one, dict) else {} for one in map(listed_options, cells_of(grid, name))]
        full = sum(map(bool, listed)) >= AGREED * max(sum(map(bool, grid.column(name))), 1)
        if full and any(_is_answer(grid, n, listed) for n in free if n != name):
            return name
    return ""


def _answer(grid: Grid, rows: Sequence[Mapping[str, str]], free: Sequence[str]) -> dict[str, Column]:
    """Return the column of the answers, in doubt if it is not called so, and others that are called so.

    Raises:
        BadArgument: There is none.
    """
    shares = {n: naming(grid.column(n), rows) for n in free}
    known = [n for n in free if bare(n) in HEADERS["answer"] and any(grid.column(n))]
    weak = [n for n in free if bare(n) in WEAK["answer"] and n not in known]
    known += [n for n in weak if _is_answer(grid, n, rows)]
    known.sort(key=lambda n: -shares[n])
    if not known and (best := max(free, key=lambda n: shares[n], default="")) and shares[best] >= AGREED:
        doubt = "whether it is the answer, as its cells name an option of each question"
        return {best: Column(best, "ignore", "", doubt=doubt, options=(option_of("answer", best),))}
    if not known:
        expected = f"a column with answers: none of {', '.join(grid.header)[:200]} has any"
        cure = "`--column answer=NAME` if one has, or `--column ignore=NAME` with that of the questions; sets whose "
        raise BadArgument("--table", str(grid.path), expected, f"{cure}answers are not published cannot be scored")
    first, *others = known
    apart = [n for n in others if shares[n] >= AGREED and _differ(grid, rows, first, n)]
    found = {n: Column(n, "own", f"{first} is the answer") for n in others}
    if not apart:
        return found | {first: Column(first, "answer", "by its name")}
    doubt = f"whether it is the answer, or {apart[0]}, which names other options"
    return found | {first: Column(first, "ignore", "", doubt=doubt, options=(option_of("answer", first),))}


def _is_answer(grid: Grid, name: str, rows: Sequence[Mapping[str, str]]) -> bool:
    """Return whether the cells of a column name options, as numbers only if it is called so."""
    cells, is_called = grid.column(name), bare(name) in HEADERS["answer"] | WEAK["answer"]
    return naming(cells, rows) >= AGREED or (is_called and bool(counted(cells, rows)[0]))


def _differ(grid: Grid, rows: Sequence[Mapping[str, str]], first: str, second: str) -> bool:
    """Return whether two columns name different options of a row."""
    cells = zip(grid.column(first), grid.column(second), rows, strict=True)
    named = [(answer_in(a, one)[0], answer_in(b, one)[0]) for a, b, one in cells if one]
    return any(a and b and a != b for a, b in named)


def numbered(grid: Grid, column: Column, columns: Sequence[Column]) -> Column:
    """Return a column of answers with the letters of those that are numbers, in doubt unless they show their start."""
    if column.words:
        return column
    if names := grid.classes.get(column.name):
        return replace(column, words={str(n): name for n, name in enumerate(names)}, why="classes that the file names")
    stated = {c.name: c.meaning for c in columns}
    words, certain = counted(grid.column(column.name), options_of(grid, _letters(grid, stated)))
    if certain:
        return replace(column, words=words)
    cell = min(words, key=len)
    other = typed(value_of(column.name, cell, OPTIONS[max(OPTIONS.index(words[cell]) - 1, 0)]))
    doubt = f"whether its numbers count the options from 0 (or from 1: `{other}` and so on)"
    options = tuple(value_of(column.name, *one) for one in words.items())
    return replace(column, meaning="ignore", why="", doubt=doubt, options=options, about="answer")


def without_labels(column: Column) -> Column:
    """Return a column of a table of questions without a doubt about labels, which are not asked about."""
    if column.stated or column.about in ("", "patient", *FACTS):
        return column
    return Column(column.name, "own", "not asked about beside questions")
