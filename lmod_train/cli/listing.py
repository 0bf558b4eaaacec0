"""The command `list`: sources, tasks, models and configs, the options of one of them, and the commands of a sweep."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from difflib import get_close_matches
from typing import Literal

import yaml

from lmod_train.cli.catalogue import Option, class_in, class_names, known_classes, options_of
from lmod_train.cli.defaults import DEFAULTS
from lmod_train.cli.names import GROUPS
from lmod_train.cli.sweep import sweep_text
from lmod_train.core.artifacts.model_facts import known_models
from lmod_train.core.errors import BadArgument
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
            (data, trainer, tripwires, checkpoint, evaluation, read_back). With `sweep`: the name of a file of
            `configs/sweep`, or your own YAML file of a grid; prints its commands, which need no wandb.
        table: With `models`: print the models of the papers and newer ones as a Markdown table, with notes: hub id,
            licence, billions of parameters, GB of GPU memory, route, state of the published numbers, what was tried.
        csv: The same as CSV, one line for each model and paper.
    """
    from lmod_train.cli import model_table

    if (kind in ("options", "sweep")) != bool(name):
        expected = "a name after `options` and `sweep`, and none after the others"
        raise BadArgument("list", f"{kind} {name}".strip(), expected, "e.g. `python -m lmod_train list options idrid`")
    if (table or csv) and kind != "models":
        raise BadArgument("--table, --csv", kind, "`models`", "`python -m lmod_train list models --table`")
    kinds = {"sources": sources, "tasks": tasks, "models": models, "configs": configs}
    if table or csv:
        kinds["models"] = model_table.comma_separated if csv else model_table.markdown
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
        chosen = yaml.safe_load(text) or {}
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
        name: A class path, a group of options (``data``, ``trainer``), or the name of a source, task or model config.

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
        near = get_close_matches(name, known, n=1)
        listed = "`python -m lmod_train list sources`, `list tasks` and `list models` print names and class paths"
        cure = f"did you mean `python -m lmod_train list options {near[0]}`?" if near else listed
        expected = f"a class path, the name of a source, task or model config, or one of {', '.join(GROUPS)}"
        raise BadArgument("list options", name, expected, cure)
    return known[name]


def _known() -> dict[str, str]:
    """Return name -> class path of the groups, sources, tasks and model configs."""
    found = dict(GROUPS)
    for base in ("Task", "Source"):
        found = {str(c.constants["name"]): c.path for c in reversed(known_classes(base))} | found
    for file in config_files("model").values():
        found.setdefault(file.stem, yaml.safe_load(file.read_text(encoding="utf-8"))["class_path"])
    return found


def _paragraph(option: Option) -> Iterator[str]:
    default = "required" if option.default is None else f"default {option.default}"
    yield f"  {option.name}: {option.kind}, {default}"
    yield from textwrap.wrap(option.description, WIDTH, initial_indent="      ", subsequent_indent="      ")


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())
