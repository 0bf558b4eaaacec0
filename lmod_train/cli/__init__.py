"""The command line: commands that load no torch, and Lightning's commands, which are imported when they run."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

from lmod_train.cli import (
    answers,
    audit,
    captions,
    curated,
    curation,
    dissect,
    drafts,
    formats,
    judge,
    judge_captions,
    lab,
    listing,
    phantoms,
    report,
    review,
    review_captions,
    table,
    weights,
)
from lmod_train.cli.disk import CURES, error_text
from lmod_train.cli.own import own_classes, trusted_in
from lmod_train.cli.shipped import by_name
from lmod_train.cli.terminal import harmless, lines
from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.core.links import links_followed
from lmod_train.core.lock import is_first

if TYPE_CHECKING:
    from lmod_train.cli.series import Series

GROUPS: dict[str, dict[str, Callable[..., None]]] = {
    "draft": {
        "ask": drafts.ask_questions,
        "review": review.review,
        "captions": captions.captions,
        "judge": judge_captions.judge_captions,
        "review-captions": review_captions.review_captions,
    },
    "weights": {
        "convert": weights.convert,
        "merge": weights.merge,
        "apply-delta": weights.apply_delta,
    },
}
"""Group -> its commands, which are typed after its name, e.g. `weights merge`."""

ABOUT = {
    "draft": "Let a model draft questions from labelled images (ask) or from captions, and let people review them.",
    "weights": "Convert, merge or complete the weights of a model.",
}
"""Group -> what its commands do."""

PLAIN: dict[str, Callable[..., None]] = {
    "phantom": phantoms.phantom,
    "curate": curation.curate,
    "subset": curated.subset,
    "blind": curated.blind,
    "audit": audit.audit,
    "rescore": report.rescore,
    "judge": judge.judge,
    "answers": answers.answers,
    "dissect": dissect.dissect,
    "report": report.report,
    "export": formats.export,
    "import": formats.import_,
    "collapse-lab": lab.collapse_lab,
    "list": listing.show,
    **{f"{group} {name}": function for group, held in GROUPS.items() for name, function in held.items()},
}
"""Whole name of a command of this package -> its function."""

LIGHTNING = {
    "fit": "Train a model on the training split; the same command again goes on where it stopped.",
    "validate": "Ask a model the questions of the validation split and score its replies.",
    "test": "Ask a model the questions of the test split and score its replies.",
    "predict": "Ask a model the questions of a split and write its replies without scoring them.",
}
ASKING: dict[str, Callable[[Sequence[str]], int]] = {
    "judge": judge.run,
    "dissect": dissect.run,
    "draft ask": drafts.run,
    "draft captions": captions.run,
    "draft judge": judge_captions.run,
}
"""Commands of this package that ask a model; they take the options of `validate` too."""

FOLLOWING = "--follow_links"
"""Option of every command: links that lead out of a curated folder are followed. No config can set it."""

LATE = {"doctor": "Check weights, data and configuration of a training without starting it; options of fit."}

FIRST = ("phantom", "curate", "fit", "validate", "report", "list")
OTHERS = {
    "data": ("subset", "blind", "audit", "export", "import"),
    "trainings": ("doctor", "collapse-lab"),
    "evaluations": ("test", "predict", "rescore", "answers", "judge", "dissect"),
}
"""What commands are about -> their names."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    It is 0, 2 for an error the user can correct, 3 if a model was asked and records have no reply, and 130
    if the command was interrupted.

    Args:
        arguments: Command and options, without the program's name; default: those of the process.
    """
    typed = sys.argv[1:] if arguments is None else arguments
    follow = FOLLOWING in typed
    arguments = whole = joined([word for word in typed if word != FOLLOWING])
    try:
        with links_followed(follow):
            with own_classes(arguments):  # a curated folder may name a class of one's own
                known = bool(whole) and whole[0] in (*PLAIN, *LIGHTNING, *LATE)
                arguments = [whole[0], *by_name(whole[0], whole[1:])] if known else whole
            with own_classes(arguments):
                return _run(arguments)
    except LmodError as error:
        print(lines(f"error: {error.typed([*' '.join(whole[:1]).split(), *whole[1:]])}"), file=sys.stderr)
        return 2
    except BrokenPipeError:  # as in `list sources | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno not in CURES:
            raise
        print(lines(f"error: {error_text(error)}"), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: every file written so far is complete; the same command continues", file=sys.stderr)
        return 130


def joined(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the whole name of the command as the first one.

    Example:
        >>> joined(["weights", "merge", "--out", "M"]), joined(["list", "tasks"])
        (['weights merge', '--out', 'M'], ['list', 'tasks'])
    """
    whole = " ".join(arguments[:2])
    return [whole, *arguments[2:]] if len(arguments) > 1 and whole in PLAIN else list(arguments)


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(overview())
    elif arguments[0] == "--version":
        from lmod_train import __version__

        print(__version__)
    elif arguments[0] in ASKING:
        return ASKING[arguments[0]](arguments[1:])
    elif arguments[0] in PLAIN:
        from lmod_train.cli.parse import call

        with harmless():
            if table.is_asked(arguments):
                asks_help = bool({"-h", "--help"} & set(arguments))  # the table is then what follows, or nothing
                call(table.curate_table, "curate --table", ["--help"] if asks_help else arguments[1:])
            else:
                call(PLAIN[arguments[0]], arguments[0], arguments[1:])
    elif arguments[0] in (*LIGHTNING, *LATE):
        return _lightning(arguments)
    elif arguments[0] in GROUPS and (len(arguments) == 1 or arguments[1] in ("-h", "--help")):
        print(group_overview(arguments[0]))
    else:
        _refuse(arguments)
    return 0


def _refuse(arguments: list[str]) -> NoReturn:
    """Refuse an unknown command, with the closest one.

    Raises:
        BadArgument: Always.
    """
    typed, listing, rest = arguments[0], "--help", arguments[1:]
    known = {name: name for name in (*PLAIN, *LIGHTNING, *LATE)}
    within = {name: f"{group} {name}" for group, held in GROUPS.items() for name in held}
    meant = within | known | {name: name for name in GROUPS}
    if typed in GROUPS:
        group, typed, *rest = arguments
        listing = f"{group} --help"
        known = {name: f"{group} {name}" for name in GROUPS[group]}
        meant = within | known
    near = get_close_matches(typed, meant, n=1)
    again = shlex.join(["python", "-m", "lmod_train", *meant[near[0]].split(), *rest]) if near else ""
    cure = f"did you mean `{again}`?" if near else f"see `python -m lmod_train {listing}`"
    whole = " ".join(arguments[:2]) if arguments[0] in GROUPS else typed
    raise BadArgument("command", whole, f"one of {', '.join(known.values())}", cure)


def _lightning(arguments: list[str]) -> int:
    """Run a command of Lightning, or print its short help."""
    from lmod_train.cli.names import check_names
    from lmod_train.cli.series import series_of
    from lmod_train.cli.short_help import WHOLE, short_help

    if {"-h", "--help"} & set(arguments):
        print(short_help(arguments[0], (LIGHTNING | LATE)[arguments[0]]))
        return 0
    if WHOLE in arguments:
        return _late([arguments[0], "--help"])
    series = series_of(arguments)
    if series is None:
        check_names(arguments[0], arguments[1:])
        return _late(arguments)
    for command in series.commands:
        check_names(command[0], command[1:])
    return _each(series, arguments)


def _each(series: Series, arguments: list[str]) -> int:
    """Run the commands of a series one after another in this process; `doctor` checks the first."""
    from lmod_train.cli.series import release
    from lmod_train.core.links import rooted

    if series.commands[0][0] == "doctor":
        return _late(series.commands[0])
    status = 0
    with rooted(series.folder):
        for command in series.commands:
            status = max(status, _late(command, once=True))
            release()
        if is_first():
            _summarise(series, arguments)
    return status


def _summarise(series: Series, arguments: list[str]) -> None:
    """Score folds as one run, and print the spread over seeds; after a training, the command that evaluates all."""
    from lmod_train.cli.series import evaluation_of
    from lmod_train.report.folds import pool
    from lmod_train.report.seeds import seeds_text

    trusted = tuple(trusted_in(series.commands[0]))
    for folder in series.pooled:
        print(lines(pool(folder, trusted)))
    if text := seeds_text(series.folder, trusted):
        print(lines(text))
    if arguments[0] == "fit":
        print(lines(f"next: `{evaluation_of(series.folder, arguments)}` evaluates what was trained"))


def _late(arguments: list[str], once: bool = False) -> int:
    """Run a command that imports torch and Lightning, which takes seconds; `once` leaves a complete training alone."""
    from lmod_train.cli import doctor, experiment

    if arguments[0] == "doctor":
        return doctor.run(arguments[1:])
    return experiment.run(arguments, once)


def overview() -> str:
    """Return the text of ``--help``: the first commands with what they do, the others by what they are about."""
    described = {name: _described(function) for name, function in PLAIN.items()} | LIGHTNING
    first = "\n".join(f"  {name:<10}{described[name]}" for name in FIRST)
    others = "\n".join(f"  {about:<13}{', '.join(names)}" for about, names in OTHERS.items())
    groups = "\n".join(f"  {group:<10}{', '.join(names)}" for group, names in GROUPS.items())
    return (
        "usage: python -m lmod_train COMMAND [options]\n\n"
        "Train and evaluate vision-language models on eye images.\n\n"
        f"the first commands, in the order of use:\n{first}\n\n"
        f"others:\n{others}\n\n"
        f"groups of commands, e.g. `python -m lmod_train weights merge`:\n{groups}\n\n"
        "`python -m lmod_train COMMAND --help` says what a command does, and shows its options.\n"
        "`--follow_links` with any command follows links that lead out of a curated folder."
    )


def group_overview(group: str) -> str:
    """Return the text of the ``--help`` of a group: its commands with what they do."""
    width = max(map(len, GROUPS[group])) + 2
    held = "\n".join(f"  {name:<{width}}{_described(function)}" for name, function in GROUPS[group].items())
    return (
        f"usage: python -m lmod_train {group} COMMAND [options]\n\n{ABOUT[group]}\n\ncommands:\n{held}\n\n"
        f"`python -m lmod_train {group} COMMAND --help` says what a command does, and shows its options."
    )


def _described(function: Callable[..., None]) -> str:
    return (function.__doc__ or "").partition("\n")[0]
