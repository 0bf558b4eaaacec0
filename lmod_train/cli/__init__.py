"""The command line: commands that load no torch, and Lightning's commands, which are imported when they run."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

from lmod_train.cli.commands import (
    LIGHTNING,
    asks,
    chosen,
    commands,
    group_overview,
    groups,
    overview,
    whole_name,
)
from lmod_train.cli.own import own_classes, trusted_in
from lmod_train.cli.shipped import by_name
from lmod_train.cli.terminal import CURES, error_text, harmless, lines
from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.core.links import links_followed
from lmod_train.core.lock import is_first

if TYPE_CHECKING:
    from lmod_train.cli.series import Series

FOLLOWING = "--follow_links"
"""Option of every command: links that lead out of a curated folder are followed. No config can set it."""
WITHOUT = ("-h", "--help", "--version")
"""What is typed in the place of a command; it works with whatever extensions are installed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    It is 0, 2 for an error the user can correct, 3 if a model was asked and records have no reply, and 130
    if the command was interrupted.

    Args:
        arguments: Command and options, without the program's name; default: those of the process.
    """
    typed = list(sys.argv[1:] if arguments is None else arguments)
    follow, typed = FOLLOWING in typed, [word for word in typed if word != FOLLOWING]
    whole = typed
    try:
        if not typed or typed[0] in WITHOUT:
            return _run(typed)
        whole = whole_name(typed)
        with links_followed(follow):
            with own_classes(whole):  # a curated folder may name a class of one's own
                known = bool(whole) and (whole[0] in LIGHTNING or whole[0] in commands())
                named = [whole[0], *by_name(whole[0], whole[1:])] if known else whole
            with own_classes(named):
                return _run(named)
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


def _run(arguments: list[str]) -> int:
    command, rest = (arguments[0], arguments[1:]) if arguments else ("--help", [])
    if command == "--version":
        from lmod_train import __version__

        print(__version__)
    elif command in WITHOUT:
        print(lines(overview()))
    elif command in LIGHTNING:
        return _lightning(arguments)
    elif command in commands():
        return _plain(command, rest)
    elif command in groups() and (not rest or rest[0] in ("-h", "--help")):
        print(group_overview(command))
    else:
        _refuse(arguments)
    return 0


def _plain(command: str, arguments: list[str]) -> int:
    """Run a command that is not Lightning's, or what an option of an extension makes of it."""
    from lmod_train.cli.parse import call, parted

    own, others = parted(arguments) if asks(command) else (arguments, None)
    name, function = chosen(command, own)
    if name != command and {"-h", "--help"} & set(own):
        own = ["--help"]  # the option's value is then what follows, or nothing
    with harmless():
        return call(function, name, own, others)


def _refuse(arguments: list[str]) -> NoReturn:
    """Refuse an unknown command, with the closest one.

    Raises:
        BadArgument: Always.
    """
    typed, listing, rest = arguments[0], "--help", arguments[1:]
    known = {name: name for name in (*commands(), *LIGHTNING)}
    within = {name: f"{group} {name}" for group, names in groups().items() for name in names}
    meant = within | known | {name: name for name in groups()}
    if typed in groups():
        group, typed, *rest = arguments
        listing = f"{group} --help"
        known = {name: f"{group} {name}" for name in groups()[group]}
        meant = within | known
    near = get_close_matches(typed, meant, n=1)
    again = shlex.join(["python", "-m", "lmod_train", *meant[near[0]].split(), *rest]) if near else ""
    cure = f"did you mean `{again}`?" if near else f"see `python -m lmod_train {listing}`"
    whole = " ".join(arguments[:2]) if arguments[0] in groups() else typed
    raise BadArgument("command", whole, f"one of {', '.join(known.values())}", cure)


def _lightning(arguments: list[str]) -> int:
    """Run a command of Lightning, or print its short help."""
    from lmod_train.cli.names import check_names
    from lmod_train.cli.series import series_of
    from lmod_train.cli.short_help import WHOLE, short_help

    if {"-h", "--help"} & set(arguments):
        print(short_help(arguments[0], LIGHTNING[arguments[0]]))
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
