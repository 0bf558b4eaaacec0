"""Verdicts of people on the replies of a run: the sheet that they fill in, and the judge's folder made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lmod_train.core.artifacts.records import write_run_records
from lmod_train.core.artifacts.replies import ReplyFile, read_replies
from lmod_train.core.artifacts.run import PEOPLE, Run
from lmod_train.core.errors import BadArgument, JudgeConflict
from lmod_train.core.escaping import from_csv
from lmod_train.core.lock import locked
from lmod_train.core.types import Prediction, Reply, Unparsed
from lmod_train.core.vocabulary.error_types import ERROR_LABELS, NO_ERROR, type_called
from lmod_train.data.formats.spreadsheet import Table, table_bytes, write_table
from lmod_train.tasks.asked import asked
from lmod_train.tasks.judgement import Judgement, judgement_id
from lmod_train.tasks.judgement_replies import question_of, to_judge
from lmod_train.tasks.verdicts import given

SHEET = ("id", "question", "expected", "given", "verdict")
"""Columns of a sheet; ``rater`` may be added."""

ERROR_TYPE = "error_type"
"""Column with the type of the error, which stands for the verdict where error types are the labels."""
RIGHT = ("true", "right", "correct", NO_ERROR)
"""Verdicts, in lower case, that leave no error to name."""

EXPECTED = "a CSV file with the columns id and verdict, and optionally rater and given"
TABLE = Table("--verdicts", EXPECTED, ("id", "verdict"), ("rater", "given", ERROR_TYPE))


@dataclass(frozen=True, slots=True)
class Verdict:
    """One row of a file of verdicts.

    Attributes:
        id: Id of the judged record.
        label: A label of the task.
        rater: Name of the person, empty if the file has none.
        given: Reply that the person saw; None if the file does not contain it.
        line: Number of the line in the file.
    """

    id: str
    label: str
    rater: str
    given: str | None
    line: int


def write_sheet(path: Path, predictions: Sequence[Prediction]) -> int:
    """Write the replies to judge as CSV with an empty column ``verdict``; return their number.

    Raises:
        BadArgument: The file exists with other content, such as a sheet that people have filled in.
    """
    judged = [(p, text) for p in predictions for text in [given(p)] if text is not None]
    rows = [(p.record.id, question_of(p.record), p.record.answer, text, "") for p, text in judged]
    write_table(path, table_bytes(SHEET, rows), "--sheet")
    return len(rows)


def read_verdicts(path: Path, task: Judgement) -> list[Verdict]:
    """Return the rows of a file (see `Table.read`) that have a verdict; equal rows once.

    Raises:
        BadArgument: The file cannot be read, lacks a column or has it twice, a row has more values than the header, a
            verdict is not a label of the task, or a person judges a reply twice and differently.
    """
    found = TABLE.read(path)
    return _once(path, [_verdict(path, line, row, task) for line, row in found if _written(row, task)])


def _written(row: Mapping[str, Any], task: Judgement) -> str:
    """Return the verdict as written; of a judge of errors the error type, also by the name of a rule.

    A reply that is right has no error; one that is wrong and has no type has no verdict.
    """
    written = from_csv(str(row.get("verdict") or "")).strip()
    if task.choices != ERROR_LABELS:
        return written
    kind = from_csv(str(row.get(ERROR_TYPE) or "")).strip()
    if ERROR_TYPE in row and not kind:
        return NO_ERROR if written.casefold() in RIGHT else ""
    return type_called(kind or written) or kind or written


def _verdict(path: Path, line: int, row: Mapping[str, Any], task: Judgement) -> Verdict:
    written = _written(row, task)
    label = task.parse(Reply(str(row.get("id")), written))
    if isinstance(label, Unparsed):
        expected = f"one of {', '.join(task.choices)} ({path}:{line})"
        raise BadArgument("verdict", written, expected, "correct that line, or name your labels with `--labels`")
    shown = row.get("given")
    text = None if shown is None else from_csv(str(shown))
    return Verdict(from_csv(str(row["id"] or "")).strip(), str(label), (row.get("rater") or "").strip(), text, line)


def _once(path: Path, verdicts: Sequence[Verdict]) -> list[Verdict]:
    kept: dict[tuple[str, str, str], Verdict] = {}
    for verdict in verdicts:
        words = " ".join((verdict.given or "").split())  # a person may have judged an earlier reply too
        first = kept.setdefault((verdict.rater, verdict.id, words), verdict)
        if first.label != verdict.label:
            where = f"{path}:{first.line} says {first.label}, {path}:{verdict.line} {verdict.label}"
            raise BadArgument("verdict", verdict.id, f"one verdict of a person on a reply ({where})", "delete one line")
    return list(kept.values())


def add_verdicts(
    run: Run, predictions: Sequence[Prediction], task: Judgement, verdicts: Sequence[Verdict], name: str
) -> list[tuple[str, str]]:
    """Write the verdicts of each person as those of a judge of the run; return each name with a line to print.

    Args:
        run: The judged run.
        predictions: Its predictions.
        task: The task with the labels.
        verdicts: Rows of a file.
        name: Name of the judge for rows without a rater.

    Raises:
        BadArgument: There is no verdict, or an id is not that of a record of the run.
        JudgeConflict: A judge of that name has other labels, or is a model.
    """
    known = {p.record.id: p for p in predictions}
    unknown = [v for v in verdicts if v.id not in known]
    if unknown or not verdicts:
        shown = f"{len(unknown)}, e.g. {unknown[0].id} in line {unknown[0].line}" if unknown else "no verdict"
        expected = f"ids of records with a reply in {run.predictions}"
        raise BadArgument("--verdicts", shown, expected, "correct the ids; `--sheet FILE` writes a sheet with all")
    by_rater: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        _check_name(run, verdict, name)  # before anything is written
        by_rater.setdefault(verdict.rater or name, []).append(verdict)
    return [(rater, _add(run, known, task, own, rater)) for rater, own in by_rater.items()]


def _check_name(run: Run, verdict: Verdict, name: str) -> None:
    """Refuse the name of a rater that cannot be that of a judge."""
    try:
        run.judge(verdict.rater or name)
    except BadArgument as error:
        if not verdict.rater:
            raise
        expected = f"a name of letters, digits and . + - _, not beginning with . (line {verdict.line})"
        cure = "rename the rater in the file, or delete the column and name the person, e.g. `--name reader_1`"
        raise BadArgument("rater", verdict.rater, expected, cure) from error


def _add(run: Run, known: Mapping[str, Prediction], task: Judgement, own: Sequence[Verdict], rater: str) -> str:
    judge = run.judge(rater)
    with locked(judge.folder, "--name"):
        of = _settle(judge, task, sorted({known[v.id].record.task for v in own}))
        records = task.records(to_judge(list(known.values()), of))
        hashes = {r.id: asked(r, [rater], "", {"judge": "people"}) for r in records}
        write_run_records(judge.records, records, hashes)
        kept = read_replies(judge.replies)
        before = {(id, hash) for id, _, hash in kept}
        outcomes: list[str] = [_outcome(v, known[v.id], hashes, before) for v in own]
        read = [v for v, outcome in zip(own, outcomes, strict=True) if outcome == "read"]
        new = [Reply(i, v.label, model=rater, asked=hashes[i]) for v in read for i in [judgement_id(v.id)]]
        file = ReplyFile(judge.replies_of(0))
        file.append(r for r in new if (r.id, 0, r.asked) not in kept or kept[r.id, 0, r.asked].reply != r.reply)
        file.close()
    left = {"on replies that are not judged": "not sent", "on an earlier reply": "stale"}
    others = "".join(f", {n} left out, {words}" for words, kind in left.items() if (n := outcomes.count(kind)))
    return f"{rater}: {len(read)} verdicts read{others}"


def _outcome(
    verdict: Verdict, prediction: Prediction, hashes: Mapping[str, str], kept: Set[tuple[str, str]]
) -> Literal["read", "not sent", "stale"]:
    """Return whether a verdict is read, is on a reply that is not sent to judges, or on an earlier reply (stale).

    Without the column ``given``, a second file cannot change what was judged: where the person has judged an earlier
    text, the verdict is stale.
    """
    text, id = given(prediction), judgement_id(verdict.id)
    if text is None:
        return "not sent"
    if verdict.given is not None:
        return "read" if verdict.given.split() == text.split() else "stale"
    before = {hash for known, hash in kept if known == id}
    return "stale" if before and hashes[id] not in before else "read"


def _settle(judge: Run, task: Judgement, of: Sequence[str]) -> list[str]:
    """Write the judge's ``config.yaml``, or compare it with that of an earlier file; return all judged tasks.

    Raises:
        JudgeConflict: The judge has other labels, or is a model.
    """
    kind = type(task)
    arguments = {"labels": list(task.choices), "right": list(task.right)}
    asking = [{"class_path": f"{kind.__module__}.{kind.__qualname__}", "init_args": arguments}]
    before = judge.read_config()
    data = before.get("data") or {}
    if before and (not before.get(PEOPLE) or data.get("tasks") != asking):
        was = data.get("tasks") if before.get(PEOPLE) else "a model"
        raise JudgeConflict(judge.folder, [f"labels: {was} -> {asking[0]['init_args']} of people"])
    every = sorted({*of, *(data.get("of") or [])})
    judge.write_config({PEOPLE: True, "data": {"of": every, "tasks": asking}})
    return every
