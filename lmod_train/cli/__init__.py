"""The command line: commands that load no torch, and Lightning's commands, which are imported when they run."""

from __future__ import annotations

import gc
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from lmod_train.cli.commands import LIGHTNING, asks, chosen, commands, group_overview, groups, overview, whole_name
from lmod_train.cli.short_names import by_name
from lmod_train.cli.terminal import CURES, error_text, harmless, lines
from lmod_train.cli.typed import own_classes, value_of, values_of
from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.core.interruption import heard
from lmod_train.core.links import links_followed, rooted
from lmod_train.core.lock import is_first

if TYPE_CHECKING:
    from lmod_train.cli.seeds_and_folds import Series

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
            return _without(typed)
        whole = whole_name(typed)
        with links_followed(follow):
            with own_classes(whole):  # a curated folder may name a class of one's own
                known = whole[0] in LIGHTNING or whole[0] in commands()
                named = [whole[0], *by_name(whole[0], whole[1:])] if known else whole
            with own_classes(named):
                if named[0] not in LIGHTNING:
                    return _plain(named)
                if _is_help(named):
                    return 0
                series = _checked(named)
                if arguments is None:
                    _import_lightning()
                return _each(series, named) if series else run_of(named[0])(named)
    except LmodError as error:
        again = [*" ".join(whole[:1]).split(), *whole[1:], *([FOLLOWING] if follow else [])]
        print(lines(f"error: {error.typed(again)}"), file=sys.stderr)
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
        heard()
        print("interrupted: every file written so far is complete; the same command continues", file=sys.stderr)
        return 130


def _without(typed: Sequence[str]) -> int:
    """Print what is asked for in the place of a command."""
    from lmod_train import __version__

    print(__version__ if typed[:1] == ["--version"] else lines(overview()))
    return 0


def _plain(arguments: list[str]) -> int:
    """Run a command that is not Lightning's, or what an option of an extension makes of it."""
    command, *rest = arguments
    if command in groups() and (not rest or rest[0] in ("-h", "--help")):
        print(group_overview(command))
        return 0
    if command not in commands():
        _refuse(arguments)
    from lmod_train.cli.parse import call, parted

    own, others = parted(rest) if asks(command) else (rest, None)
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


def _is_help(arguments: list[str]) -> bool:
    """Print the help of a command of Lightning, if that is asked for: the short one, or every option."""
    from lmod_train.cli.short_help import WHOLE, short_help

    if {"-h", "--help"} & set(arguments):
        print(short_help(arguments[0], LIGHTNING[arguments[0]]))
    elif WHOLE in arguments:
        run_of(arguments[0])([arguments[0], "--help"])
    else:
        return False
    return True


def run_of(command: str) -> Callable[..., int]:
    """Return the function of a command of Lightning; importing it takes seconds."""
    from lmod_train.cli import doctor, experiment

    return doctor.run if command == "doctor" else experiment.run


def _import_lightning() -> None:
    """Import what `run_of` does without collections, in a process that this program has for itself."""
    gc.disable()  # a tenth of the time of the imports: what they make is no garbage, and is not looked at again
    try:
        run_of("fit")
    finally:
        gc.enable()
    gc.freeze()


def _checked(arguments: list[str]) -> Series | None:
    """Check the names and weights in a command of Lightning, and return its series; None for a single run."""
    from lmod_train.cli.missing_pieces import check_pieces
    from lmod_train.cli.names import check_names
    from lmod_train.cli.seeds_and_folds import series_of
    from lmod_train.core.artifacts.series import is_trained

    series = series_of(arguments)
    every = series.commands if series else [arguments]
    given = [check_names(command[0], command[1:]) for command in every][-1]
    # a series leaves complete trainings, the last of them after all others; `doctor` lists what it finds
    complete = series is not None and arguments[0] == "fit" and is_trained(Path(value_of("run", every[-1][1:])))
    if not any(word.startswith("--print_config") for word in every[-1]):
        check_pieces(arguments[0], every[-1][1:], given, weights=not complete)
    return series


def _each(series: Series, arguments: list[str]) -> int:
    """Run the commands of a series one after another in this process; `doctor` checks the first."""
    from lmod_train.cli.seeds_and_folds import release

    run, status = run_of(arguments[0]), 0
    if arguments[0] == "doctor":
        return run(series.commands[0])
    with rooted(series.folder):
        for command in series.commands:
            status = max(status, run(command, True))
            release()
        if is_first():
            _summarise(series, arguments)
    return status


def _summarise(series: Series, arguments: list[str]) -> None:
    """Score folds as one run, and print the spread over seeds; after a training, the command that evaluates all."""
    from lmod_train.cli.seeds_and_folds import evaluation_of
    from lmod_train.report.folds import pool
    from lmod_train.report.seed_spread import seeds_text

    trusted = tuple(values_of(series.commands[0], "--trust"))
    for folder in series.pooled:
        print(lines(pool(folder, trusted)))
    if text := seeds_text(series.folder, trusted):
        print(lines(text))
    if arguments[0] == "fit":
        print(lines(f"next: `{evaluation_of(series.folder, arguments)}` evaluates what was trained"))
