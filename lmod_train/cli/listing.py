"""The command `list`: sources, tasks, models and configs, the options of one of them, and the commands of a sweep."""

from __future__ import annotations

import csv
import io
import itertools
import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, Literal, NoReturn

from lmod_train.cli.catalogue import Option, class_in, class_names, datamodules, known_classes, options_of
from lmod_train.cli.defaults import DEFAULTS
from lmod_train.cli.names import GROUPS
from lmod_train.core.artifacts.model_facts import PAPERS, ModelFacts, known_models
from lmod_train.core.errors import BadArgument, did_you_mean
from lmod_train.core.raw import parse_yaml, read_yaml
from lmod_train.core.shipped import config_files

WIDTH = 110


def show(
    kind: Literal["sources", "tasks", "models", "configs", "options", "sweep"],
    name: str = "",
    *,
    table: bool = False,
    csv: bool = False,
) -> None:
    """List sources, tasks, models, configs, the options of one, or the runs of a sweep.

    Includes your own sources and tasks, defined in modules and packages of the working folder. They are read without
    being imported.

    Args:
        kind: What to list.
        name: With `options`: the name of a source, task or model config, a class path, or a group of options of `fit`
            (data, trainer, tripwires, checkpoint, best, evaluation, read_back). With `sweep`: the name of a file of
            `configs/sweep`, or your own YAML file of a grid; prints its commands, which need no wandb.
        table: With `models`: print the models of the papers and newer ones as a Markdown table, with notes: hub id,
            licence, billions of parameters, GB of GPU memory, route, state of the published numbers, what was tried.
        csv: The same as CSV, one line for each model and paper.
    """
    if (kind in ("options", "sweep")) != bool(name):
        expected = "a name after `options` and `sweep`, and none after the others"
        raise BadArgument("list", f"{kind} {name}".strip(), expected, "e.g. `python -m lmod_train list options idrid`")
    if (table or csv) and kind != "models":
        raise BadArgument("--table, --csv", kind, "`models`", "`python -m lmod_train list models --table`")
    kinds = {"sources": sources, "tasks": tasks, "models": models, "configs": configs}
    if table or csv:
        kinds["models"] = comma_separated if csv else markdown
    named = {"options": options_text, "sweep": sweep_text}
    text = named[kind](name) if name else kinds[kind]()
    print(text or f"no {kind} yet", flush=True)


def sources() -> str:
    """Return a paragraph per source: name, modality, licence, class path, publication, description and folders.

    Sources of this package come first, then those of the working folder.
    """
    found = known_classes("Source")
    return "\n\n".join(
        f"{c.constants['name']}  ({c.constants.get('modality', '?')}; licence: {c.constants.get('licence', '?')})\n"
        f"  {c.path}\n  Published at: {c.constants.get('reference', '?')}\n"
        f"{_indented(c.doc)}\n  Expected folders:\n{_indented(str(c.constants.get('_TREE', '?')))}"
        for c in found
    )


def tasks() -> str:
    """Return a paragraph per task: name, version, class path and description; those of the working folder last."""
    found = known_classes("Task")
    return "\n\n".join(
        f"{c.constants['name']}  (version {c.constants.get('version', '?')})\n  {c.path}\n"
        + _indented(c.doc.partition("\n")[0])
        for c in found
    )


def models() -> str:
    """Return a paragraph per model config: its option, class path, and the comment at the top of the file.

    A service whose provider has announced its end has a line with the day.
    """
    ends = {model.name: model.ending(date.today()) for model in known_models()}
    paragraphs = []
    for file in config_files("model").values():
        text = file.read_text(encoding="utf-8")
        comment = re.match(r"(?:#.*\n)*", text)
        described = re.sub("^#:? ?", "", comment[0].rstrip(), flags=re.M) if comment else ""
        if said := ends.get(file.stem):
            described += f"\n{said[0].upper()}{said[1:]}."
        chosen = parse_yaml(text) or {}
        paragraphs.append(f"{file.stem}  (--model {file})\n  {chosen.get('class_path', '?')}\n" + _indented(described))
    return "\n\n".join(paragraphs)


def configs() -> str:
    """Return a line per shipped experiment and curation: its option, and the first line of its comment."""
    found = []
    for command, part in (("fit", ""), ("curate", "curate")):
        for file in config_files(part).values():
            first = file.read_text(encoding="utf-8").partition("\n")[0]
            found.append(f"{command} --config {file.stem:<28}{first.removeprefix('#').strip()}")
    return "\n".join(found)


def options_text(name: str) -> str:
    """Return a paragraph per option of a class.

    Args:
        name: A class path, a group of options (``data``, ``trainer``), or the name of a source, task, model config or
            datamodule.

    Raises:
        BadArgument: The name is unknown.
    """
    path = class_path_of(name)
    ours = DEFAULTS.get(name, {})
    found = [replace(o, default=repr(ours[o.name])) if o.name in ours else o for o in options_of(path)]
    if not found:
        return f"{path} has no options."
    return "\n".join([path, *("\n".join(_paragraph(option)) for option in found)])


def class_path_of(name: str) -> str:
    """Return the class path of a name.

    Raises:
        BadArgument: The name is unknown.

    Example:
        >>> class_path_of("idrid"), class_path_of("data")
        ('lmod_train.data.sources.idrid.Idrid', 'lmod_train.data.datamodules.records.RecordsDataModule')
    """
    known = _known()
    module, dot, last = name.rpartition(".")
    if dot and (last in class_names(module) or class_in(module, last) is not None):
        return name
    if name not in known:
        listed = "`python -m lmod_train list sources`, `list tasks` and `list models` print names and class paths"
        cure = did_you_mean("python -m lmod_train list options", [name], known, listed)
        expected = (
            f"a class path, the name of a source, task, model config or datamodule, or one of {', '.join(GROUPS)}"
        )
        raise BadArgument("list options", name, expected, cure)
    return known[name]


def _known() -> dict[str, str]:
    """Return name -> class path of the groups, sources, tasks, model configs and datamodules."""
    found = GROUPS | datamodules()
    for base in ("Task", "Source"):
        found = {str(c.constants["name"]): c.path for c in reversed(known_classes(base))} | found
    for file in config_files("model").values():
        found.setdefault(file.stem, read_yaml(file)["class_path"])
    return found


def _paragraph(option: Option) -> Iterator[str]:
    default = "required" if option.default is None else f"default {option.default}"
    yield f"  {option.name}: {option.kind}, {default}"
    yield from textwrap.wrap(option.description, WIDTH, initial_indent="      ", subsequent_indent="      ")


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())


# The table of models as Markdown or CSV.
COLUMNS = ("model", "papers", "hub", "licence", "parameters", "memory", "route", "state", "tried")


def markdown(models: Iterable[ModelFacts] | None = None) -> str:
    """Return the table with parameters in billions and memory in GB, then notes on each model.

    Args:
        models: Rows; default: all models of the shipped configs.
    """
    rows = list(known_models() if models is None else models)
    head = [f"| {' | '.join(COLUMNS)} |", "|---|---|---|---|--:|--:|---|---|---|"]
    return "\n".join([*head, *(f"| {' | '.join(row(model))} |" for model in rows), "", *map(notes, rows)])


def row(model: ModelFacts) -> tuple[str, ...]:
    """Return the cells of a model in the Markdown table."""
    active = f" ({model.active:g} active)" if model.active else ""
    memory = gpu_memory(model)
    return (
        f"`{model.name}`",
        ", ".join(PAPERS[paper] for paper in model.published) or "-",
        f"{model.hub} (end: {model.ends})" if model.ends else model.hub,
        model.licence,
        f"{model.parameters:g}{active}" if model.parameters else "-",
        f"{memory:.0f}" if memory else "-",
        model.route,
        _states(model),
        model.tried,
    )


def _states(model: ModelFacts) -> str:
    """Return the states of a model's rows, with the papers they hold for where they differ."""
    papers: dict[str, list[str]] = {}
    for paper, published in model.published.items():
        papers.setdefault(published.state, []).append(PAPERS[paper])
    if len(papers) < 2:
        return next(iter(papers), "-")
    return "; ".join(f"{state} ({', '.join(names)})" for state, names in papers.items())


def notes(model: ModelFacts) -> str:
    """Return a Markdown item: description, route, eye images in training, and the published rows with their scores.

    Also the announced end of a service, and the day on which the facts were compared with public pages.
    """
    rows = [f"  - {_row(paper, model)}" for paper in model.published]
    text = (
        f"- `{model.name}`: {model.about} Revision: {model.revision}. Image: {model.image or 'unknown'}. Route "
        f"{model.route}: {model.why}. Eye images in training: {model.contamination}."
    )
    if model.ends:
        text += f" End of the service: {model.ends}{f'; {model.replaced}' if model.replaced else ''}."
    if model.looked_up:
        text += f" Compared with public pages on {model.looked_up}{f': {model.page}' if model.page else ''}."
    return "\n".join([text, *rows])


def _row(paper: str, model: ModelFacts) -> str:
    row = model.published[paper]
    scores = ", ".join(f"{task.replace('_', ' ')} {score:g}" for task, score in row.scores.items())
    note = f" ({row.note})" if row.note else ""
    return f"{PAPERS[paper]}, printed {', '.join(row.rows)}: {row.state}{note}" + (f"; {scores}" if scores else "")


def comma_separated(models: Iterable[ModelFacts] | None = None) -> str:
    """Return all facts as CSV, one line for each model and paper; a model of no paper has one line.

    Args:
        models: Rows; default: all models of the shipped configs.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head = ("model", "hub", "revision", "licence", "parameters", "active", "image", "tokens", "memory", "route", "why")
    writer.writerow(
        [*head, "contamination", "tried", "ends", "looked_up", "page", "paper", "printed", "state", "note", "scores"]
    )
    for model in known_models() if models is None else models:
        memory = gpu_memory(model)
        facts = [model.name, *(getattr(model, name) for name in ("hub", "revision", "licence", "parameters", "active"))]
        facts += [model.image, model.tokens, f"{memory:.1f}" if memory else "", model.route, model.why]
        facts += [model.contamination, model.tried, model.ends or "", model.looked_up or "", model.page]
        for paper, row in model.published.items():
            scores = " ".join(f"{task}={score}" for task, score in row.scores.items())
            writer.writerow([*facts, PAPERS[paper], "; ".join(row.rows), row.state, row.note, scores])
        if not model.published:
            writer.writerow([*facts, "", "", "", "", ""])
    return out.getvalue().rstrip("\n")


BYTES = 2
"""Bytes of a value in bfloat16."""

QUESTIONS, TEXT = 8, 1024
"""Number of questions that are answered at once, and tokens of each beside its image: 512 of prompt, 512 of reply."""


def gpu_memory(model: ModelFacts) -> float | None:
    """Return the memory of weights and key-value cache in GB (10^9 bytes); None if parameters or cache are unknown.

    The cache holds keys and values of `QUESTIONS` sequences, each with one image of 1024 x 1024 pixels. Activations,
    the vision tower's above all, and the libraries' own memory come on top; sliding windows need less.
    """
    if model.parameters is None or model.cache is None or model.tokens is None:
        return None
    values = 2 * model.cache.layers * model.cache.heads * model.cache.width
    cache = QUESTIONS * (model.tokens + TEXT) * values * BYTES
    return model.parameters * BYTES + cache / 1e9


# The commands of a sweep's grid, for those who run them without wandb.


def sweep_text(name: str) -> str:
    """Return the commands that `wandb agent` would start, one a line, each with a run folder of its own.

    Args:
        name: A file of ``configs/sweep`` without its ending, or the path of a sweep's YAML file.

    Raises:
        BadArgument: The sweep does not exist, or is no grid of values.
    """
    file = _file_of(name)
    try:
        sweep = read_yaml(file)
    except (OSError, ValueError) as error:
        _refuse(name, f"a valid YAML file ({error})", file)
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
