"""The commands of a sweep's grid, for those who run them without wandb."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import yaml

from lmod_train.core.errors import BadArgument, did_you_mean
from lmod_train.core.shipped import config_files


def sweep_text(name: str) -> str:
    """Return the commands that `wandb agent` would start, one a line, each with a run folder of its own.

    Args:
        name: A file of ``configs/sweep`` without its ending, or the path of a sweep's YAML file.

    Raises:
        BadArgument: The sweep does not exist, or is no grid of values.
    """
    file = _file_of(name)
    try:
        sweep = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        _refuse(name, f"a valid YAML file ({' '.join(str(error).split())[:200]})", file)
    if not isinstance(sweep, Mapping) or sweep.get("method") != "grid":
        _refuse(name, "a sweep with `method: grid`", file)
    commands = [_command(name, file, sweep, chosen) for chosen in _grid(name, file, sweep)]
    runs = [f"runs/{file.stem}/{number}" for number in range(1, len(commands) + 1)]
    return "\n".join(shlex.join([*words, "--run", run]) for words, run in zip(commands, runs, strict=True))


def _file_of(name: str) -> Path:
    known = config_files("sweep")
    found = Path(name) if Path(name).is_file() else known.get(name)
    if found is None:
        cure = did_you_mean("list sweep", [name], list(known), f"one of {', '.join(known)}")
        raise BadArgument("list sweep", name, "the name of a shipped sweep or its YAML file", cure)
    return found


def _grid(name: str, file: Path, sweep: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every combination of the values, in the order in which wandb visits them."""
    parameters = sweep.get("parameters")
    if not isinstance(parameters, Mapping) or not parameters:
        _refuse(name, "`parameters` with their values", file)
    several: dict[str, list[Any]] = {}
    for key in sorted(parameters):
        given = parameters[key] if isinstance(parameters[key], Mapping) else {}
        values = [given["value"]] if set(given) == {"value"} else given.get("values")
        if not isinstance(values, list) or not values:
            _refuse(name, f"a list of `values` for {key}", file)
        several[key] = values
    for chosen in itertools.product(*several.values()):
        yield dict(zip(several, chosen, strict=True))


def _command(name: str, file: Path, sweep: Mapping[str, Any], chosen: Mapping[str, Any]) -> list[str]:
    """Return the words of one command; it needs no `env`, which a shell does not."""
    stands = {
        "env": [],
        "interpreter": ["python"],
        "program": [str(sweep.get("program"))],
        "args": [f"--{key}={value}" for key, value in chosen.items()],
    }
    words: list[str] = []
    for part in map(str, sweep.get("command") or ["${interpreter}", "-m", "lmod_train", "fit", "${args}"]):
        macro = part[2:-1] if part.startswith("${") and part.endswith("}") else ""
        if macro and macro not in stands:
            _refuse(name, f"a command with {', '.join(f'${{{known}}}' for known in stands)}; it has {part}", file)
        words += stands.get(macro, [part])
    return words


def _refuse(name: str, expected: str, file: Path) -> NoReturn:
    raise BadArgument("list sweep", name, expected, f"correct {file}")
