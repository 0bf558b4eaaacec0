"""Checks of the names in a command of Lightning before torch is imported, so that a typo is reported at once."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from lmod_train.cli.catalogue import class_names, module_file, options_of, parameters_of
from lmod_train.cli.short_names import data_class
from lmod_train.cli.typed import CONFIGS, config_of, content_of, leaves, options
from lmod_train.core.artifacts.model_facts import nearest
from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import BadArgument, did_you_mean
from lmod_train.core.lock import is_first
from lmod_train.core.package_data import package_data
from lmod_train.core.shipped import config_files
from lmod_train.tasks.trust import place_of

TRAINER = "lightning.pytorch.trainer.trainer.Trainer"
_TEXTS = package_data(__file__, "texts.yaml")
GROUPS: dict[str, str] = _TEXTS["groups"]
"""Option group -> class whose parameters are its options."""

PLAIN: list[str] = _TEXTS["plain"]
"""Options that are neither in `GROUPS` nor arguments of the Trainer's method."""

PARTS = ("model", "trainer")
"""Options that name a shipped config in the folder of that name."""

CHECKPOINTS = ("meta.pt", "latest")
"""Files by which a checkpoint folder is recognised: FSDP's and DeepSpeed's."""

_PATHS = re.compile(r"(?<![\w./])lmod_train(?:\.[a-z_]\w*)+\.[A-Z]\w*")
"""Class paths of this package in a typed value."""

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
"""A class path: two or more names between dots."""

FEW = 12
"""Maximum number of valid names that an error lists in full."""


def check_configs(arguments: Sequence[str], room: str = "") -> None:
    """Read every ``--config`` before the parser, which fails on deeply nested files.

    Args:
        arguments: The arguments after the command.
        room: Folder of the shipped configs of the command, below that of all; empty for Lightning's commands.

    Raises:
        BadArgument: A file is missing, is not valid YAML, or contains no options.
    """
    for option in options(arguments):
        if option.head == "--config":
            config_of(option, room)


def check_classes(arguments: Sequence[str]) -> None:
    """Refuse class paths of this package that do not exist, typed or in a config.

    Raises:
        BadArgument: One does not exist; the message gives the closest one.
    """
    for option in options(arguments):
        if option.key in CONFIGS and option.value:
            paths = [str(v) for key, v in leaves(config_of(option)) if key.rpartition(".")[2] == "class_path"]
        else:
            paths = _PATHS.findall(option.value) if option.head else []
        for path in paths:
            _check_class(path)


def check_names(command: str, arguments: Sequence[str]) -> dict[str, Any]:
    """Check every option, file, class and folder that a command names; return option -> last value.

    Names that cannot be checked without importing are left to the parser.

    Args:
        command: ``fit``, ``validate``, ``test``, ``predict`` or ``doctor``.
        arguments: The arguments after the command.

    Raises:
        BadArgument: A name does not exist; the message gives the closest one.
    """
    typed = options(arguments)
    for word in (option.value for option in typed if not option.head):
        raise BadArgument("arguments", word, "options, which begin with --", f"did you mean `--config {word}`?")
    own = [option for option in typed if option.key not in CONFIGS]
    check_classes([word for option in own for word in option.words])
    groups = GROUPS | {"data": data_class(arguments) or GROUPS["data"]}
    configured: list[tuple[str, Any]] = []
    for option in typed:
        if option.key in CONFIGS:
            configured += leaves(config_of(option))
    models = [str(v) for n, v in configured if n in ("model", "model.class_path") and v]
    model = _class_of_model([*models, *(option.value for option in own if option.key in ("model", "model.class_path"))])
    deeper = partial(_deeper, groups={**groups, "model": model})
    _check_options(command, [option.key.replace("data.init_args.", "data.", 1) for option in typed], groups, deeper)
    classes = {option.key for option in typed} | {name.removesuffix(".class_path") for name, _ in configured}
    for head in ("optimizer", "lr_scheduler"):
        for option in (one for one in own if one.key.startswith(f"{head}.") and head not in classes):
            kind, cure = f"an option of the class of {head}, which is not named", f"name the class of {head} first"
            raise _unknown("--", option.key, kind, deeper(option.key), cure)
    if any(option.key == "model" for option in own):  # it replaces the model of the config, often by another class
        configured = [pair for pair in configured if pair[0].partition(".")[0] != "model"]
    if not groups["data"].startswith("lmod_train.") and not any(name == "data.class_path" for name, _ in configured):
        configured = [pair for pair in configured if pair[0].partition(".")[0] != "data"]
    for part in PARTS:
        _check_part(part, [option.value for option in own if option.key == part and option.value])
    whole = [*configured, *((option.key, option.value or None) for option in own)]
    given = [(name.replace("data.init_args.", "data.", 1), value) for name, value in whole]
    _check_options(command, [name for name, _ in given], groups, deeper, dashes="")
    for path in [value for name, value in given if name.rpartition(".")[2] == "class_path"]:
        _check_class(str(path))
    _check_model(model, [n for n, _ in given], deeper)
    _check_places(dict(given))
    return dict(given)


def _deeper(name: str, groups: Mapping[str, str]) -> list[str]:
    """Return the options of classes whose last part is that of a name: of ``lr``, ``model.optimisation.lr``."""
    last = name.rpartition(".")[2]
    known = (f"{group}.{one.name}" for group, path in groups.items() if path for one in options_of(path))
    found = [one for one in known if one.rpartition(".")[2] == last and one != name]
    return sorted(found, key=lambda one: one.partition(".")[0] != name.partition(".")[0])


Deeper = Callable[[str], list[str]]
"""Function of an unknown option to options elsewhere with the same last part, nearest first."""


def _check_options(
    command: str, names: Sequence[str], groups: Mapping[str, str], deeper: Deeper, dashes: str = "--"
) -> None:
    method = parameters_of(TRAINER, "fit" if command == "doctor" else command) or ()
    heads = sorted({*groups, *PLAIN, *method} - {"train_dataloaders", "val_dataloaders", "dataloaders", "datamodule"})
    for name in names:
        head, _, rest = name.partition(".")
        _check_one(dashes, head, heads, "", name, f"{command} --help_all", deeper)
        known = parameters_of(groups[head]) if head in groups and rest and name != "data.class_path" else None
        if known:
            of = head if groups[head] == GROUPS[head] else groups[head]
            _check_one(dashes, rest.partition(".")[0], known, f"{head}.", name, f"list options {of}", deeper)


def _check_one(
    dashes: str, name: str, known: Sequence[str], before: str, whole: str, listed: str, deeper: Deeper
) -> None:
    if name in known:
        return
    rest = whole.removeprefix(f"{before}{name}")
    near = [*deeper(whole), *(f"{before}{one}{rest}" for one in get_close_matches(name, known, n=1))]
    few = len(known) <= FEW
    kind = f"one of {', '.join(known)}" if few else f"an option of {before[:-1]}" if before else "a known option"
    raise _unknown(dashes, whole, kind, near, f"`python -m lmod_train {listed}` shows every option")


def _unknown(dashes: str, whole: str, kind: str, near: Sequence[str], every: str) -> BadArgument:
    cure = f"did you mean `{dashes}{near[0]}`?" if near else every
    return BadArgument("option" if dashes else "key", f"{dashes}{whole}", kind, cure)


def _check_class(path: str) -> None:
    """Refuse a class path of this package that does not exist; other packages are left to the parser."""
    module, _, name = path.rpartition(".")
    if not path.startswith("lmod_train.") or name in class_names(module):
        return
    if module_file(module) is not None:
        known = [f"{module}.{n}" for n in class_names(module)]
    else:
        room = module.rpartition(".")[0]
        folder = module_file(room)
        files = sorted(folder.parent.glob("*.py")) if folder else []
        known = [f"{room}.{f.stem}.{n}" for f in files for n in class_names(f"{room}.{f.stem}")]
    near = get_close_matches(path, known, n=1, cutoff=0.5)
    cure = f"did you mean `{near[0]}`?" if near else "see `python -m lmod_train list models` and `list tasks`"
    raise BadArgument("class_path", path, "the path of an existing class", cure)


def _check_part(part: str, values: Sequence[str]) -> None:
    """Refuse the name of a shipped model or trainer that does not exist; files and class paths are checked later."""
    for name in values:
        if name == "null" or name.startswith("{") or name.endswith((".yaml", ".yml")) or _PATH.fullmatch(name):
            continue
        cure = _nearest_models(name) if part == "model" else _nearest_part(part, name)
        raise BadArgument(f"--{part}", name, f"the name of a shipped {part}, a YAML file or a class path", cure)


def _nearest_models(name: str) -> str:
    if Path(name).is_dir():
        return f"add the folder to a local model: `--model llava_1_5_7b --model.backend.checkpoint {shlex.quote(name)}`"
    near = nearest(name)
    others = f" Others near it: {', '.join(near[1:])}" if near[1:] else ""
    return f"did you mean `--model {near[0]}`?{others}" if near else "`python -m lmod_train list models` lists them"


def _nearest_part(part: str, name: str) -> str:
    known = list(config_files(part))
    return did_you_mean(f"--{part}", [name], known, f"one of {', '.join(known)}")


def _class_of_model(models: Sequence[str]) -> str:
    """Return the class path of the last model given, which is the one used; empty without any."""
    path = models[-1] if models else ""
    if path.endswith((".yaml", ".yml")):
        path = str(dict(leaves(content_of("--model", path))).get("class_path", ""))
    return path


def _check_model(path: str, names: Sequence[str], deeper: Deeper) -> None:
    """Check the class of the model and its options.

    Args:
        path: Class path of the model.
        names: Options that are given, typed or in a config.
        deeper: Finds what an unknown one may have meant.
    """
    if not path.startswith("lmod_train."):
        return
    _check_class(path)
    known = parameters_of(path)
    for name in names if known else ():
        if not name.startswith("model.") or name in ("model.class_path", "model.init_args"):
            continue
        before = "model.init_args." if name.startswith("model.init_args.") else "model."
        option, *rest = name.removeprefix(before).split(".")
        _check_one("--", option, known or (), before, name, f"list options {path}", deeper)
        parts = _parts(path, option) if rest and rest[0] not in ("class_path", "init_args") else ()
        if parts:
            _check_one("--", rest[0], parts, f"{before}{option}.", name, f"list options {path}", deeper)


def _parts(path: str, option: str) -> tuple[str, ...]:
    """Return the options of the dataclass that is the type of a class's option; empty for any other type."""
    options = options_of(path)
    kind = next((one.kind for one in options if one.name == option), "")
    if not re.fullmatch(r"\w+(?: \| None)?", kind):  # as a mapping of dataclasses, whose keys are free
        return ()
    return tuple({one.name.split(".")[1]: None for one in options if one.name.startswith(f"{option}.")})


def _check_places(given: Mapping[str, Any]) -> None:
    """Check the last given values of checkpoint, run and trusted module."""
    checkpoint, run, trust = (given.get(name) for name in ("ckpt_path", "run", "trust"))
    if checkpoint:
        _check_checkpoint(Path(str(checkpoint)))
    if run:
        check_run(Path(str(run)))
    if trust and not Path(str(trust)).exists():
        check_trusted([str(trust)])


def check_run(run: Path) -> None:
    """Refuse a folder that contains other files than those of a run or of `doctor`."""
    cure = "name another folder for the run: `--run RUN`"
    if (run / "manifest.json").exists():
        raise BadArgument("--run", str(run), "a folder of a run, and this is a curated folder", cure)
    begun = Run(run).has_begun() or Run(run).doctor.exists() or not is_first()
    if run.is_dir() and not begun and any(not entry.name.startswith(".") for entry in run.iterdir()):
        raise BadArgument("--run", str(run), "a new or empty folder, or the folder of a run", cure)


def _check_checkpoint(path: Path) -> None:
    """Refuse what cannot be a checkpoint, before a run folder is written.

    Lightning's words ``last`` and ``best`` are refused too: Lightning looks for them in the new run, and without a
    warning evaluates untrained weights if there are none.
    """
    cure = "name a checkpoint of a run of `fit`, e.g. `--ckpt_path RUN/checkpoints/last.ckpt`"
    if not path.exists():
        raise BadArgument("--ckpt_path", str(path), "an existing file or folder", cure)
    if path.is_dir() and not any((path / name).is_file() for name in CHECKPOINTS):
        expected = f"a checkpoint; the folder contains neither {' nor '.join(CHECKPOINTS)}, or is incomplete"
        raise BadArgument("--ckpt_path", str(path), expected, cure)
    if path.is_file() and not is_zipfile(path):
        raise BadArgument("--ckpt_path", str(path), "a checkpoint; the file is not one, or is truncated", cure)


def check_trusted(names: Sequence[str]) -> None:
    """Refuse names in `--trust` that are not importable.

    Raises:
        BadArgument: No such module is installed or in the working folder, so trusting it would have no effect.
    """
    for name in names:
        if place_of(name) is None:
            expected = f"a module that is installed or is in the working folder, {Path.cwd()}"
            raise BadArgument("--trust", name, expected, "run the command in the folder of the module's file")
