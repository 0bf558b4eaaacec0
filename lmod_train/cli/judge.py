"""The command `judge`: a model, or people, judge whether the replies of a run agree with the reference answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from jsonargparse.typing import NonNegativeInt

from lmod_train.cli.ended import Ended
from lmod_train.core.errors import BadArgument

if TYPE_CHECKING:
    from lmod_train.core.artifacts.run import Run
    from lmod_train.core.types import Prediction


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
    from lmod_train.core.artifacts.predictions import read_predictions
    from lmod_train.core.artifacts.run import Run
    from lmod_train.core.links import rooted
    from lmod_train.core.lock import is_first

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


def _names(given: Mapping[str, Any]) -> list[str]:
    return [name.strip() for name in given["tasks"].split(",") if name.strip()]


def _write_sheet(run: Run, predictions: Sequence[Prediction], given: Mapping[str, Any]) -> Ended:
    from lmod_train.data.formats.verdicts import write_sheet
    from lmod_train.tasks.building import task_arguments, tasks_asked
    from lmod_train.tasks.judgement_replies import to_judge, wrong_of_each
    from lmod_train.tasks.trust import Trust

    chosen = to_judge(predictions, _names(given))
    if given["wrong"]:
        trust = Trust(tuple(given["trust"] or ()), run.folder)
        tasks = tasks_asked((p.record for p in chosen), task_arguments(run.read_config()), trust)
        chosen = wrong_of_each(chosen, tasks, given["wrong"])
    count = write_sheet(given["sheet"], chosen)
    labels = ", ".join(_asking(given)["labels"])
    print(f"wrote {given['sheet']}: {count} replies to judge, each as one of {labels}")
    return Ended()


def _ask_model(others: Sequence[str], run: Run, predictions: Sequence[Prediction], given: Mapping[str, Any]) -> Ended:
    from lmod_train.cli.names import check_names
    from lmod_train.tasks.judgement_replies import to_judge

    to_judge(predictions, _names(given))  # refuses unknown tasks before torch is imported
    if given["name"]:
        run.judge(given["name"])
    if given["attacks"] and given["wrong"]:
        raise BadArgument("--wrong", given["wrong"], "no `--attacks` beside it", "leave one of the two out")
    asking, options = _asking(given), ["--model", given["model"], *others]
    check_names("validate", options)
    from lmod_train.cli.judging import start

    return start(run, given["name"], _names(given), asking, options, given["attacks"], given["wrong"])


def _read_people(run: Run, predictions: Sequence[Prediction], given: Mapping[str, Any]) -> Ended:
    from lmod_train.data.formats.verdicts import add_verdicts, read_verdicts
    from lmod_train.tasks.judgement import Judgement
    from lmod_train.tasks.rescore import rescore

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
    from lmod_train.tasks.judgement import Judgement

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
    from lmod_train.tasks.judgement_prompt import Wording

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
    from lmod_train.core.lock import locked
    from lmod_train.core.tables import Table, markdown
    from lmod_train.report.results import read_results
    from lmod_train.report.sections.agreement import Agreement
    from lmod_train.report.sections.judges import Judges
    from lmod_train.tasks.rescore import rescore

    with locked(run.folder, "run", WAIT):
        lines = rescore(run.folder, tuple(trust))
    print("\n".join(lines))
    read = read_results([run.folder], trust=trust)
    results = replace(read, outcomes=dict(zip([one.run for one in read.runs], read.outcomes.values(), strict=True)))
    parts = [part for section in (Judges(), Agreement()) for part in section.parts(results)]
    print("\n\n".join(markdown(part) for part in parts if isinstance(part, Table)))
