"""The commands `judge`, `draft ask`, `draft captions` and `draft judge`, and the files of people's verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from jsonargparse.typing import NonNegativeInt

from lmod_train.cli.ended import Ended
from lmod_train.cli.names import check_names
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import write_records, write_run_records
from lmod_train.core.artifacts.replies import ReplyFile, read_replies
from lmod_train.core.artifacts.run import PEOPLE, Run
from lmod_train.core.csv_files import csv_bytes
from lmod_train.core.errors import BadArgument, JudgeConflict
from lmod_train.core.escaping import from_csv
from lmod_train.core.links import rooted
from lmod_train.core.lock import is_first, locked
from lmod_train.core.types import Prediction, Reply, Unparsed
from lmod_train.core.vocabulary.error_types import ERROR_LABELS, NO_ERROR, type_called
from lmod_train.data.formats.spreadsheet import Table as SpreadsheetTable
from lmod_train.data.formats.spreadsheet import write_table
from lmod_train.tasks.rescore import rescore
from lmod_train.tasks.verdicts import given

MYPY = False  # true for a type checker; jsonargparse runs a block of `TYPE_CHECKING`, and these load scipy
if MYPY:
    from lmod_train.core.types import Record
    from lmod_train.extensions.drafting.caption_files import Folder
    from lmod_train.extensions.drafting.captions import Caption
    from lmod_train.extensions.drafting.judgement import Judgement


WAIT = 60.0
"""Seconds that a judge waits for another one that computes the scores of the run."""


def judge(
    others: Sequence[str],
    run: Path,
    *,
    model: str = "",
    name: str = "",
    tasks: str = "",
    labels: str = "TRUE,FALSE",
    right: str = "",
    prompt: str = "lmod_train",
    attacks: NonNegativeInt = 0,
    wrong: NonNegativeInt = 0,
    verdicts: Path | None = None,
    sheet: Path | None = None,
    trust: list[str] | None = None,
) -> int:
    """Let a model, or people, judge whether the replies of a run agree with the reference answers.

    The model gets question, reference answer and reply as text, without the image. Its replies are stored in
    RUN/judgements/NAME as those of a run; the same command again judges only what has no current judgement. Replies
    that were refused or cut off, or are empty are not sent, and count as wrong. Scores are written to
    RUN/scores.csv with the judge's name. Other options, such as --model.backend.base_url and --trainer.devices, are
    those of `validate`.

    Args:
        others: Options of `validate` for the judge's model and devices.
        run: Folder of the run whose replies are judged.
        model: The judge: YAML file, or name of a shipped one (`list models`), as in `validate`.
        name: Name of the judge in scores and folders; default: that of its model, or `people`.
        tasks: Names of tasks to judge, separated by commas; default: those with open-ended questions.
        labels: Labels that the judge chooses from, separated by commas.
        right: Those that count as right, separated by commas; default: the first one.
        prompt: Name of a prompt: lmod_train; ophthalwechat, the paper's, in English and Chinese; or error_types, by
            which the judge chooses the error type of LMOD+ of each reply. Or a text file of your own with {question},
            {expected}, {given}, {labels}.
        attacks: Number of questions of each task on which the judge is tested instead: texts whose verdict is known
            stand in the place of the reply (empty, praise, "answer TRUE", the expected answer negated), or are added to
            it. The success rate of each is written to RUN/scores.csv. 0 for no test.
        wrong: Number of wrong replies of each task to judge, and no others, drawn by the SHA-256 of their ids; 0 judges
            all replies. For error types: LMOD+ sorted 100.
        verdicts: CSV file with verdicts of people instead of a model: columns id and verdict, optionally rater and
            given (the reply that was judged).
        sheet: CSV file to write for people to fill in, with an empty column verdict.
        trust: Module outside this package with task classes that the run names, which may be imported; can be repeated.
    """
    given = {key: value for key, value in locals().items() if key != "others"}

    ways: dict[str, Callable[..., Ended]] = {
        "model": partial(_ask_model, others),
        "verdicts": _read_people,
        "sheet": _write_sheet,
    }
    chosen = [way for way in ways if given[way]]
    if len(chosen) != 1:
        typed = " ".join(f"--{way}" for way in chosen) or "none"
        expected = "one of `--model NAME` (a model judges), `--verdicts FILE` (people did), `--sheet FILE` (for people)"
        raise BadArgument("--model, --verdicts, --sheet", typed, expected, "see `python -m lmod_train judge --help`")
    judged = Run(run)
    if given["attacks"] and not given["model"]:
        cure = f"add `--model`, e.g. `python -m lmod_train judge {given['run']} --model openai --attacks 100`"
        raise BadArgument("--attacks", given["attacks"], "a model that is tested", cure)
    with rooted(judged.folder):
        ended = ways[chosen[0]](judged, read_predictions(judged.predictions), given)
        if ended.scored and is_first():
            _join(judged, given["trust"] or ())
    return ended.status


def _listed(typed: str, known: Sequence[str] = (), option: str = "", example: str = "") -> list[str]:
    """Return the names in a list that is separated by commas.

    Raises:
        BadArgument: One is none of the known ones.
    """
    names = [name.strip() for name in typed.split(",") if name.strip()]
    if known and (unknown := [name for name in names if name not in known]):
        raise BadArgument(option, ",".join(unknown), f"some of {','.join(known)}", f"e.g. `{option} {example}`")
    return names


def _write_sheet(run: Run, predictions: Sequence[Prediction], given: Mapping[str, Any]) -> Ended:
    from lmod_train.extensions.drafting.judgement import to_judge, wrong_of_each
    from lmod_train.tasks.building import task_arguments, tasks_asked
    from lmod_train.tasks.trust import Trust

    chosen = to_judge(predictions, _listed(given["tasks"]))
    if given["wrong"]:
        trust = Trust(tuple(given["trust"] or ()), run.folder)
        tasks = tasks_asked((p.record for p in chosen), task_arguments(run.read_config()), trust)
        chosen = wrong_of_each(chosen, tasks, given["wrong"])
    count = write_sheet(given["sheet"], chosen)
    labels = ", ".join(_asking(given)["labels"])
    print(f"wrote {given['sheet']}: {count} replies to judge, each as one of {labels}")
    return Ended()


def _ask_model(others: Sequence[str], run: Run, predictions: Sequence[Prediction], given: Mapping[str, Any]) -> Ended:
    from lmod_train.extensions.drafting.judgement import to_judge

    to_judge(predictions, _listed(given["tasks"]))  # refuses unknown tasks before torch is imported
    if given["name"]:
        run.judge(given["name"])
    if given["attacks"] and given["wrong"]:
        raise BadArgument("--wrong", given["wrong"], "no `--attacks` beside it", "leave one of the two out")
    asking, options = _asking(given), ["--model", given["model"], *others]
    check_names("validate", options)
    from lmod_train.extensions.drafting.model_runs import start_judging

    return start_judging(run, given["name"], _listed(given["tasks"]), asking, options, given["attacks"], given["wrong"])


def _read_people(run: Run, predictions: Sequence[Prediction], given: Mapping[str, Any]) -> Ended:
    from lmod_train.extensions.drafting.judgement import Judgement

    task = Judgement(**_asking(given))
    rows = read_verdicts(given["verdicts"], task)
    for rater, line in add_verdicts(run, predictions, task, rows, given["name"] or "people"):
        rescore(run.judge(rater).folder)
        print(line)
    return Ended(True)


def _asking(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `Judgement`.

    Raises:
        BadArgument: They do not fit, or the file of the prompt cannot be read.
    """
    from lmod_train.extensions.drafting.judgement import Judgement

    arguments: dict[str, Any] = {"labels": given["labels"].split(","), **_prompt(given["prompt"])}
    if given["right"]:
        arguments["right"] = given["right"].split(",")
    asking = Judgement(**arguments)
    return arguments | {"labels": list(asking.choices), "right": list(asking.right)}


def _prompt(named: str) -> dict[str, str]:
    """Return the argument of `Judgement` for a prompt of this package, or for the text of a file.

    Raises:
        BadArgument: It is neither a name nor a file that can be read.
    """
    from lmod_train.extensions.drafting.judgement import Wording

    if named in get_args(Wording):
        return {"wording": named}
    try:
        return {"wording": "lmod_train", "prompt": Path(named).read_text(encoding="utf-8")}
    except (OSError, ValueError) as error:
        expected = f"one of {', '.join(get_args(Wording))}, or a text file in UTF-8 ({error})"
        cure = "e.g. `--prompt ophthalwechat`, or a file with the text `{question} {expected} {given} One of {labels}.`"
        raise BadArgument("--prompt", named, expected, cure) from error


def _join(run: Run, trust: Sequence[str]) -> None:
    """Score the run with the new judgements, and print a line and the rows of each judge."""
    from lmod_train.core.tables import Table, markdown
    from lmod_train.extensions.drafting.judges import Agreement, Judges
    from lmod_train.report.results import read_results

    with locked(run.folder, "run", WAIT):
        lines = rescore(run.folder, tuple(trust))
    print("\n".join(lines))
    read = read_results([run.folder], trust=trust)
    results = replace(read, outcomes=dict(zip([one.run for one in read.runs], read.outcomes.values(), strict=True)))
    parts = [part for section in (Judges(), Agreement()) for part in section.parts(results)]
    print("\n\n".join(markdown(part) for part in parts if isinstance(part, Table)))


# The command `draft ask`: a model drafts questions about the images of a curated folder.


def ask_questions(
    others: Sequence[str],
    curated: Path,
    *,
    model: str,
    out: Path,
    stages: str = "",
    seed: NonNegativeInt = 0,
    limit: NonNegativeInt = 0,
) -> int:
    """Let a model draft single-choice questions about curated images, and check them.

    There is one draft for each image and each stage of X-PCR's chain (IQA, AL, LC, DD, SG, CD) that has a truth: that
    of a record of the task `chain`; without chains, a diagnosis, a grade, or boxes. The model gets the image, the facts
    and the template of the stage (listings 1 to 6 of the paper's supplement). OUT is the folder of a run: the same
    command again asks only for drafts that have no reply. Every draft is checked; OUT/drafts.csv, OUT/faults.csv and
    OUT/checks.csv list drafts, faults and counts. No draft becomes a record before people have reviewed a sample of its
    stage (`draft review`). Other options, such as --model.backend.base_url and --trainer.devices, are those of
    `validate`.

    Args:
        others: Options of `validate` for the model and its devices.
        curated: Folder written by `curate`.
        model: The model: YAML file, or name of a shipped one (`list models`), as in `validate`.
        out: Folder to write the drafts to.
        stages: Stages to draft, separated by commas; default: all that have a truth.
        seed: Seed of the letters of right options, and of the choice among several structures of an image.
        limit: Maximum number of drafts, the first in id order; 0 for all.
    """
    from lmod_train.core.artifacts.manifest import read_manifest
    from lmod_train.extensions.drafting.drafts import STAGES

    read_manifest(curated)
    chosen = _listed(stages.upper(), STAGES, "--stages", "DD,SG")
    options = ["--run", str(out), "--model", model, *others]
    check_names("validate", options)
    from lmod_train.extensions.drafting.model_runs import start_drafting

    ended = start_drafting(curated, chosen, seed, limit, options)
    if ended.scored:
        with locked(out, "--out", WAIT):
            print("\n".join(_checked(out)))
    return ended.status


def _checked(folder: Path) -> list[str]:
    """Check the drafts of a folder, write their lists, and return the lines to print."""
    from lmod_train.extensions.drafting.checks import faults_of
    from lmod_train.extensions.drafting.drafts import drafted_of
    from lmod_train.extensions.drafting.review import CHECKS, DRAFTS, FAULTS, lines, write_lists

    predictions = [p for p in read_predictions(Run(folder).predictions) if p.status != "failed"]
    drafts = drafted_of(predictions)
    faults = faults_of(drafts)
    write_lists(folder, drafts, faults, predictions)
    return [*lines(faults, predictions), f"wrote {', '.join(str(folder / name) for name in (DRAFTS, FAULTS, CHECKS))}"]


# The command `draft captions`: a model writes questions in two languages from a user's own captions.


def captions(
    others: Sequence[str],
    table: Path,
    *,
    model: str,
    out: Path,
    kinds: str = "",
    filter: Literal["paper", "none", "own"] = "paper",
    keywords: Path | None = None,
    balance: Literal["points_of_all", "share_of_true"] = "points_of_all",
    balance_with: Literal["seed", "model"] = "seed",
    seed: NonNegativeInt = 0,
    limit: NonNegativeInt = 0,
) -> int:
    """Let a model write balanced questions in Chinese and English from your captions.

    The steps are those of OphthalWeChat: the model gets each caption, without the image, with the paper's prompt for
    each kind of question; questions are read, checked, filtered by keywords and balanced. OUT/generation and
    OUT/rewriting are runs: the same command again asks only for what has no reply. OUT/questions.csv lists the
    questions, OUT/left_out.csv, OUT/counts.csv and OUT/keywords.csv what was left out. No question becomes a record
    before people have reviewed a sample (`draft review-captions`). Other options, such as --model.backend.base_url and
    --trainer.devices, are those of `validate`.

    Args:
        others: Options of `validate` for the model and its devices.
        table: CSV file or workbook with the columns image (a path beside the table) and caption, and optionally id,
            group (patient), modality, subspecialty, text_in_image (yes or no) and licence.
        model: The model: YAML file, or name of a shipped one (`list models`), as in `validate`.
        out: Folder to write the drafts to; it gets copies of the images.
        kinds: Kinds of question, separated by commas: binary_question, single_choice_question, open_question; default:
            all.
        filter: Keywords by which questions about the patient are left out: those of the paper, none, or your own.
        keywords: With `--filter own`: CSV file with a column keyword.
        balance: What "21.2 % of the True" means: points of all statements, after which half are True and the surplus
            is left out; or a share of those that are True.
        balance_with: Who moves the right options: a permutation by the seed, or the model with the paper's prompt.
        seed: Seed of all draws.
        limit: Maximum number of captions, the first of the table; 0 for all.
    """
    from lmod_train.extensions.drafting.caption_files import Folder, copy_images, read_captions
    from lmod_train.extensions.drafting.caption_steps import Settings
    from lmod_train.extensions.drafting.captions import KINDS

    chosen = _listed(kinds, KINDS, "--kinds", KINDS[0]) or list(KINDS)
    options = ["--model", model, *others]
    check_names("validate", options)
    found, left = read_captions(table)
    found = found[: limit or None]
    settings = Settings(_keywords(filter, keywords), balance, balance_with, seed)
    folder = Folder(out, {one.key: one for one in found}, settings, tuple(left))
    with locked(out, "--out"):
        folder.write()
        copy_images(found, table, out)
        return _questions(folder, found, chosen, options)


def _questions(folder: Folder, found: Sequence[Caption], kinds: Sequence[str], options: Sequence[str]) -> int:
    """Ask for the questions of captions and balance them; return the exit status."""
    from lmod_train.extensions.drafting.caption_files import GENERATION, REWRITING, lines, write_lists
    from lmod_train.extensions.drafting.caption_steps import requests
    from lmod_train.extensions.drafting.captions import CaptionQuestions

    generated = _asked(folder, GENERATION, CaptionQuestions().records(found, kinds), options)
    if not generated.scored:
        return generated.status
    altering = requests(folder.prepared(), folder.captions, folder.settings)
    rewritten = _asked(folder, REWRITING, altering, options) if altering else Ended(True)
    status = max(generated.status, rewritten.status)
    if not rewritten.scored:
        return status
    drafts = folder.balanced()
    write_lists(folder, drafts)
    print("\n".join(lines(folder, drafts)))
    if drafts.items:
        print(f"next: `python -m lmod_train draft review-captions {folder.path} --blank SHEET.csv`")
    return status


def _asked(folder: Folder, name: str, records: Sequence[Record], options: Sequence[str]) -> Ended:
    """Ask for the requests of a run that have no reply."""
    from lmod_train.extensions.drafting.model_runs import Captioning, Comparing, start_requests

    write_records(folder.requests(name), records)
    kind = Comparing if name == "parity" else Captioning
    return start_requests(folder.requests(name), folder.path / name, records[0].task_class, options, kind)


def _keywords(filter: str, keywords: Path | None) -> tuple[str, ...]:
    from lmod_train.extensions.drafting.caption_steps import paper_keywords, read_keywords

    if (filter == "own") != (keywords is not None):
        expected = "`--filter own` together with `--keywords FILE.csv`"
        raise BadArgument("--filter, --keywords", f"{filter}, {keywords}", expected, "give both, or none of them")
    if keywords is not None:
        return read_keywords(keywords)
    return paper_keywords() if filter == "paper" else ()


# The command `draft judge`: a model judges whether both languages of questions from captions say the same.


def judge_captions(
    others: Sequence[str], draft: Path, *, model: str, share: float = 0.2, seed: NonNegativeInt = 0
) -> int:
    """Let a model judge whether both languages of questions from captions say the same.

    The model gets the English and the Chinese half of each question of a sample as text, without image and caption. Its
    replies are stored in DRAFT/parity as those of a run: the same command again asks only for what has no reply, and a
    larger --share only for the questions that it adds. DRAFT/parity.csv lists the questions that were compared: agrees,
    differs or unparsed. A question whose languages differ is not left out: `draft review-captions` puts it first on the
    sheet, and releases it only if people have read both halves. Other options, such as --model.backend.base_url and
    --trainer.devices, are those of `validate`.

    Args:
        others: Options of `validate` for the model and its devices.
        draft: Folder written by `draft captions`.
        model: The judge: YAML file, or name of a shipped one (`list models`), as in `validate`; another model than the
            one that wrote the questions.
        share: Share of the questions of each kind that are compared, above 0, up to 1.
        seed: Seed of the sample.
    """
    from lmod_train.extensions.drafting.caption_files import PARITY, read_folder
    from lmod_train.extensions.drafting.caption_steps import comparisons, sampled

    if not 0 < share <= 1:
        raise BadArgument("--share", share, "a share above 0, up to 1", "e.g. `--share 0.2`")
    options = ["--model", model, *others]
    check_names("validate", options)
    folder = read_folder(draft)
    items = folder.balanced().items
    if not items:
        cure = f"see {draft / 'left_out.csv'} for the reasons"
        raise BadArgument("draft", str(draft), "a folder with a question that was kept", cure)
    records = comparisons(sampled(items, share, seed), folder.captions)
    with locked(draft, "draft"):
        ended = _asked(folder, PARITY, records, options)
        if ended.scored:
            _report(folder)
    return ended.status


def _report(folder: Folder) -> None:
    """Write the lists of a folder anew, and print the outcome."""
    from lmod_train.extensions.drafting.caption_files import COMPARED, GENERATION, PARITY, write_lists
    from lmod_train.extensions.drafting.caption_steps import differing, summary
    from lmod_train.extensions.drafting.judges import judges_itself

    drafts = folder.balanced()
    write_lists(folder, drafts)
    found = folder.compared(drafts.items)
    print("\n".join(summary(found, len(drafts.items))))
    print(f"wrote {folder.path / COMPARED}")
    if judges_itself(Run(folder.path / GENERATION), Run(folder.path / PARITY)):
        print("warning: the judge is the model that wrote the questions; models tend to prefer their own texts")
    if failed := sum(one.reason == "failed" for one in found.values()):
        print(f"{failed} requests failed; the same command asks them again")
    first = f"; the {n} that differ come first on the sheet" if (n := len(differing(found))) else ""
    print(f"next: `python -m lmod_train draft review-captions {folder.path} --blank SHEET.csv`{first}")


# Verdicts of people on the replies of a run: the sheet that they fill in, and the judge's folder made of it.
SHEET = ("id", "question", "expected", "given", "verdict")
"""Columns of a sheet; ``rater`` may be added."""

ERROR_TYPE = "error_type"
"""Column with the type of the error, which stands for the verdict where error types are the labels."""

RIGHT = ("true", "right", "correct", NO_ERROR)
"""Verdicts, in lower case, that leave no error to name."""

EXPECTED = "a CSV file with the columns id and verdict, and optionally rater and given"

TABLE = SpreadsheetTable("--verdicts", EXPECTED, ("id", "verdict"), ("rater", "given", ERROR_TYPE))


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
    from lmod_train.extensions.drafting.judgement import question_of  # scipy: not for `--help`

    judged = [(p, text) for p in predictions for text in [given(p)] if text is not None]
    rows = [(p.record.id, question_of(p.record), p.record.answer, text, "") for p, text in judged]
    write_table(path, csv_bytes(SHEET, rows, end="\r\n"), "--sheet")
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
    from lmod_train.extensions.drafting.judgement import judgement_id, to_judge
    from lmod_train.tasks.asked import asked

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
    from lmod_train.extensions.drafting.judgement import judgement_id

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
