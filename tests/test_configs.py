"""Every config that is shipped parses against the real classes, and none is left out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonargparse import Namespace

from lmod_train.cli.catalogue import options_of
from lmod_train.cli.curation import curate as curate_raw
from lmod_train.cli.examination import plain as as_written
from lmod_train.cli.names import GROUPS
from lmod_train.cli.parse import parser_of
from lmod_train.cli.report import report
from lmod_train.core.shipped import config_at, config_files, config_folders, configs_folder
from lmod_train.data.sources.base import UNPLACED
from lmod_train.data.sources.discovery import source_classes

CONFIGS = configs_folder()
KINDS = ("", "curate", "model", "report", "server", "source", "sweep", "task", "trainer")
"""Folders of configs, each parsed by a test below; "" is the experiments at the top."""

LINES = 25
"""A config is short: so many lines at most, comments, blank ones and the sections of a report not counted."""


def of(folder: str) -> list[Path]:
    pattern = "*.yaml" if folder == "" else "**/*.yaml"
    return sorted(file for root in config_folders() for file in (root / folder).glob(pattern))


def names_its_data(file: Path) -> bool:
    """Return whether a config names the class of its records."""
    data = read(file).get("data")
    return isinstance(data, dict) and "class_path" in data


def every_config() -> list[Path]:
    """Return the configs of the main path and of extensions."""
    return sorted(file for root in config_folders() for file in root.rglob("*.yaml"))


def read(file: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(file.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def parser() -> Any:
    """Lightning's parser with our classes behind it; it parses and builds nothing."""
    from lightning.pytorch.cli import LightningCLI

    from lmod_train.cli.experiment import Experiment, options

    class Parsed(Experiment):
        subcommands = staticmethod(LightningCLI.subcommands)  # all, not only the typed one

        def before_instantiate_classes(self) -> None: ...

        def instantiate_classes(self) -> None: ...

        def _run_subcommand(self, subcommand: str) -> None: ...

    arguments = ["validate", *PARTS, "--model", str(CONFIGS / "model" / "scripted.yaml")]
    return Parsed(ExitStack(), **options(), args=arguments).parser


PARTS = ["--data.curated", "curated", "--data.tasks", f"[{CONFIGS / 'task' / 'glaucoma.yaml'}]"]


def parsed(parser: Any, command: str, *arguments: str | Path) -> Namespace:
    namespace: Namespace = parser.parse_args([command, *map(str, arguments)])[command]
    return namespace


def test_every_config_is_parsed_by_a_test():
    text = Path(__file__).read_text(encoding="utf-8")
    looped = set(re.findall(r'^    for file in (?:of|few)\("(\w*)"', text, flags=re.MULTILINE))
    assert looped == set(KINDS)
    assert sorted(file for kind in KINDS for file in of(kind)) == every_config()
    assert all(of(kind) for kind in KINDS)


def test_configs_are_short_and_name_parts_that_exist():
    for file in every_config():
        lines = file.read_text(encoding="utf-8").splitlines()
        left_out = (
            ("#", "- class_path: lmod_train.", "- {class_path: lmod_train.") if file.parent.name == "report" else ("#",)
        )
        held = sum(bool(line.strip()) and not line.lstrip().startswith(left_out) for line in lines)
        assert 0 < held <= LINES, file
        for name in paths(read(file)):
            assert config_at(name, file.parent) or (CONFIGS.parent / name).is_file(), f"{file} names {name}"


def paths(value: Any) -> Iterator[str]:
    """Yield what is written as the path of a YAML file, anywhere below `value`."""
    if isinstance(value, str):
        if value.endswith(".yaml"):
            yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from paths(inner)


def test_paths_are_found_wherever_they_stand():
    assert list(paths({"a": "b.yaml", "c": [{"d": "e.yaml"}, "f.txt", 3]})) == ["b.yaml", "e.yaml"]


EVERY = pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["few", "every"])
"""Over a few configs of a kind, or over all: a parse takes a tenth of a second, and most differ in a value alone."""


def few(folder: str, every: bool = False) -> list[Path]:
    """Return the first two configs of a kind and the last two, or every one."""
    files = of(folder)
    return files if every or len(files) < 5 else [*files[:2], *files[-2:]]


@pytest.fixture(scope="module")
def curation() -> Any:
    return parser_of(curate_raw, "curate")


def path_of(built: object) -> str:
    return f"{type(built).__module__}.{type(built).__qualname__}"


def test_curation_configs_build_their_tasks(curation: Any):
    for file in of("curate"):
        values = curation.instantiate(curation.parse_args(["--config", str(file), "--out", "curated"]))
        written = read(file)
        assert values.protocol == written["protocol"], file
        for part in ("tasks", "sources"):
            named = [
                part if isinstance(part, dict) else read(config_at(part, file.parent)) for part in written.get(part, [])
            ]
            built = [path_of(one) for one in getattr(values, part) or []]
            assert built == [one["class_path"] for one in named], (file, part)


def test_reports_build_their_sections():
    parser = parser_of(report, "report")
    for file in of("report"):
        values = parser.instantiate(parser.parse_args(["RUN", "--config", str(file), "--out", "report"]))
        assert [path_of(one) for one in values.sections] == [one["class_path"] for one in read(file)["sections"]], file


def test_sources_are_built_with_their_options_and_still_to_be_found(curation: Any):
    for file in of("source"):
        values = curation.instantiate(curation.parse_args(["--out", "curated", "--sources", f"[{file}]"]))
        (source,) = values.sources
        assert (source.name, source.root) == (file.stem, UNPLACED)
        assert path_of(source) == read(file)["class_path"]


def test_every_source_has_its_config():
    assert sorted(f.stem for f in of("source")) == sorted(source_classes())


@EVERY
def test_experiments_parse_into_the_parts_they_name(parser: Any, every: bool):
    for file in few("", every):
        if names_its_data(file):  # for which `fit` makes another parser; its page's commands are executed
            continue
        config, written = parsed(parser, "fit", "--config", file), read(file)
        model = (
            written["model"] if isinstance(written["model"], dict) else read(config_at(written["model"], file.parent))
        )
        tasks = [read(config_at(name, file.parent)) for name in written["data"].get("tasks", [])]
        trainer = read(config_at(written["trainer"], file.parent))
        assert config.model.class_path == model["class_path"], file
        assert [t.class_path for t in config.data.tasks] == [t["class_path"] for t in tasks], file
        stated = [key for key in ("accelerator", "devices") if key in trainer]
        assert stated and {key: config.trainer[key] for key in stated} == {key: trainer[key] for key in stated}, file
        assert str(config.data.curated) == written["data"]["curated"], file


def test_a_config_that_a_run_has_written_means_the_same_to_another_run(parser: Any, tmp_path: Path):
    """Also where an option is null whose default is not, as the adapters of a model that is tuned in full."""
    fit = parser._subcommands_action.choices["fit"]
    full = ["--config", str(CONFIGS / "quickstart.yaml"), "--model.init_args.lora=null", "--trainer.precision=null"]
    for options in (full, ["--config", str(CONFIGS / "llava_med_ft.yaml")]):
        written = as_written(fit, parsed(parser, "fit", *options))
        (tmp_path / "config.yaml").write_text(yaml.safe_dump(written))
        again = as_written(fit, parsed(parser, "fit", "--config", tmp_path / "config.yaml"))
        assert again | {"config": None} == written | {"config": None}
        assert (written["model"]["init_args"]["lora"] is None) == (options is full)


def test_experiments_ask_what_their_protocol_curates():
    for file in of(""):
        data = read(file)["data"]
        data = data.get("init_args", data)
        folder = Path(data["curated"])  # curated/PROTOCOL, PROTOCOL/curated, or any
        protocol = folder.parent.name if folder.name == "curated" and folder.parent.name else folder.name
        protocol = "default" if protocol == "curated" else protocol
        curation = config_files("curate")[protocol]
        assert asked(file, data.get("tasks", [])) <= asked(curation, read(curation)["tasks"]), file


def asked(file: Path, tasks: list[Any]) -> set[tuple[str, str]]:
    """Return class and scale of each task that a config asks."""
    parts = [task if isinstance(task, dict) else read(config_at(task, file.parent)) for task in tasks]
    return {(part["class_path"], part.get("init_args", {}).get("scale", "")) for part in parts}


def test_a_sweep_compares_a_figure_of_a_task_that_its_experiment_asks():
    for file in of("sweep"):
        sweep = read(file)
        experiment = CONFIGS.parent / next(part for part in sweep["command"] if part.endswith(".yaml"))
        tasks = {
            class_path.split(".")[-2] for class_path, _ in asked(experiment, read(experiment)["data"].get("tasks", []))
        }
        assert sweep["metric"]["name"].split("/")[:2] in [["val", task] for task in tasks], file


@EVERY
def test_models_parse_as_their_class(parser: Any, every: bool):
    for file in few("model", every):
        config = parsed(parser, "validate", *PARTS, "--model", file)
        assert config.model.class_path == read(file)["class_path"], file
        arguments = {k: config.model.init_args[k] for k in plain(read(file)["init_args"])}
        folders = {k: str(v) for k, v in arguments.items() if isinstance(v, Path)}
        assert arguments | folders == plain(read(file)["init_args"]), file


def plain(arguments: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in arguments.items() if not isinstance(v, dict)}


@EVERY
def test_servers_state_how_they_are_launched_and_asked_and_whether_that_was_tried(parser: Any, every: bool):
    for file in few("server", every):
        written = read(file)
        assert list(written) == ["install", "launch", "ask", "state", "limits"], file
        assert written["state"].startswith(("tried", "untried")) and written["limits"], file
        options = [o if o != "openai" else CONFIGS / "model/openai.yaml" for o in shlex.split(written["ask"])]
        backend = parsed(parser, "validate", *PARTS, *options).model.init_args.backend.init_args
        assert backend.model and "8000" in written["launch"] and ":8000" in backend.base_url, file


@EVERY
def test_tasks_parse_as_their_class(parser: Any, every: bool):
    model = CONFIGS / "model" / "scripted.yaml"
    for file in few("task", every):
        config = parsed(parser, "validate", "--data.curated", "c", "--data.tasks", f"[{file}]", "--model", model)
        (task,) = config.data.tasks
        assert task.class_path == read(file)["class_path"], file
        assert written_in(task.as_dict(), read(file)), file


def written_in(parsed: Any, written: Any) -> bool:
    """Return whether all that is written stands in what was parsed, which has the defaults as well."""
    if isinstance(written, dict):
        return isinstance(parsed, dict) and all(written_in(parsed.get(k), v) for k, v in written.items())
    return bool(parsed == written)


@EVERY
def test_trainers_parse(parser: Any, every: bool):
    model = CONFIGS / "model" / "scripted.yaml"
    for file in few("trainer", every):
        config = parsed(parser, "validate", *PARTS, "--model", model, "--trainer", file)
        written = plain(read(file))
        lists = {k for k, v in written.items() if isinstance(v, list)}
        single = written.keys() - lists
        assert {k: config.trainer[k] for k in single} == {k: written[k] for k in single}, file
        assert [c.class_path for k in lists for c in config.trainer[k]] == [
            c["class_path"] for k in lists for c in written[k]
        ], file


PUBLISHED = "# published: "
"""Comment of a value that is a paper's, though it is the default too: the default may move, the paper's may not."""
REPLACES = "# replaces: "
"""Comment of a default in a config that is merged into an experiment's, of which it replaces the value."""


@EVERY
@pytest.mark.parametrize("kind", sorted({*KINDS} - {"report", "server", "sweep"}))
def test_a_config_holds_no_default_but_those_that_are_published_or_replace_a_value(
    kind: str, every: bool, parser: Any, tmp_path: Path
):
    files = [file for file in (distinct(kind) if every else few(kind)) if not names_its_data(file)]
    found = {f"{file.name}:{line}": text for file in files for line, text in repeated(kind, file, parser, tmp_path)}
    assert [place for place, text in found.items() if PUBLISHED not in text and REPLACES not in text] == []


def test_a_repeated_default_is_found_wherever_it_stands(parser: Any, tmp_path: Path):
    file = tmp_path / "x.yaml"
    lines = [
        "class_path: lmod_train.models.modules.conversation.VisionLanguageModel",
        "init_args:",
        "  checkpoint: small_base",
        "  max_new_tokens: 512",
        "  lora:",
        "    rank: 3",
        "    dropout: 0.05",
        "  tune_tower: true",
    ]
    file.write_text("\n".join(lines))
    assert [line for line, _ in repeated("model", file, parser, tmp_path)] == [4, 7]


def distinct(kind: str) -> list[Path]:
    """Return one config of each set of optional values; dozens of models differ in the name of their checkpoint alone.

    Whether a value is the default does not depend on the required ones.
    """
    files = {str(optional(tree := read(file), required(tree, file.parent))): file for file in reversed(of(kind))}
    return sorted(files.values())


def optional(tree: Any, kept: Any) -> Any:
    """Return a config with its required values replaced by None, but for the classes."""
    if not isinstance(tree, dict) or not isinstance(kept, dict):
        return None
    inner = {key: optional(value, kept[key]) if key in kept else value for key, value in tree.items()}
    return inner | {key: tree[key] for key in ("class_path",) if key in tree}


def test_configs_that_differ_in_a_required_value_alone_are_compared_once():
    models = {file.stem for file in distinct("model")}
    assert len(models & {"llava_1_5_7b", "internvl3_8b", "qwen3_vl_8b"}) <= 1
    assert {"small_base_lora", "small_base_wide", "cnn"} <= models


BARE: dict[tuple[str, str], Any] = {}
"""(kind, config without what may be left out) -> its parsed part; many configs have the same."""


def repeated(kind: str, file: Path, parser: Any, place: Path) -> list[tuple[int, str]]:
    """Return (line number, line) of each value of a config that the code's default equals.

    Parses the config without its optional values too, from a file in the folder `place`.
    """
    if (kind, file.stem) == ("curate", "default"):  # holds the defaults of `curate`
        return []
    text = file.read_text(encoding="utf-8")
    kept = required(yaml.safe_load(text), file.parent)
    words = kind, yaml.safe_dump(kept)
    if words not in BARE:
        (place / "bare.yaml").write_text(words[1], encoding="utf-8")
        BARE[words] = part_of(kind, place / "bare.yaml", parser)
    whole, least = part_of(kind, file, parser), BARE[words]
    lines = text.splitlines()
    return [(line + 1, lines[line]) for line in sorted(equal(yaml.compose(text), kept, whole, least))]


def required(tree: Any, folder: Path, path: str = GROUPS["data"], prefix: str = "") -> Any:
    """Return what is left of a config without the values that may be left out: classes, parts, required options.

    Args:
        tree: The config, or a value in it.
        folder: What paths in it are relative to.
        path: Of the class whose options stand in it.
        prefix: What precedes their names, for a part of the class's options, e.g. ``encoder.``.
    """
    if isinstance(tree, list):
        return [required(item, folder, path) for item in tree]
    if not isinstance(tree, dict):
        return str(config_at(tree, folder)) if names_class(tree) else tree
    if "class_path" in tree:
        own = required(tree.get("init_args", {}), folder, tree["class_path"])
        return {"class_path": tree["class_path"], "init_args": own}
    needed = {option.name for option in options_of(path) if option.default is None} | {"protocol"}
    return {
        key: required(value, folder, path, f"{prefix}{key}." if key not in GROUPS else "")
        for key, value in tree.items()
        if prefix + key in needed or key in GROUPS or names_class(value)
    }


def names_class(value: Any) -> bool:
    """Return whether a value names a class, itself or by the path of a file."""
    if isinstance(value, list):
        return any(map(names_class, value))
    return "class_path" in value if isinstance(value, dict) else str(value).endswith(".yaml")


def part_of(kind: str, file: Path, parser: Any) -> Any:
    """Return what a config of a kind is parsed into."""
    scripted = ["--model", CONFIGS / "model" / "scripted.yaml"]
    if kind in ("curate", "source"):
        curate = parser_of(curate_raw, "curate")
        chosen = ["--config", str(file)] if kind == "curate" else ["--sources", f"[{file}]"]
        values = curate.parse_args(["--out", "curated", *chosen])
        return values if kind == "curate" else values.sources[0]
    if kind == "":
        return parsed(parser, "fit", "--config", file)
    if kind == "task":
        arguments = ["--data.curated", "c", "--data.tasks", f"[{file}]", *scripted]
        return parsed(parser, "validate", *arguments).data.tasks[0]
    chosen = ["--model", file] if kind == "model" else [*scripted, "--trainer", file]
    return parsed(parser, "validate", *PARTS, *chosen)[kind]


def equal(node: yaml.Node, kept: Any, whole: Any, least: Any) -> Iterator[int]:
    """Yield the line of each value of a YAML node that is not kept and is parsed into the same where it is left out."""
    if isinstance(node, yaml.SequenceNode):
        for parts in zip(node.value, kept, whole, least, strict=True):
            yield from equal(*parts)
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        name = key.value
        if name in kept:
            yield from equal(value, kept[name], whole[name], least[name])
        elif isinstance(least.get(name), Namespace) and isinstance(value, yaml.MappingNode):
            yield from equal(value, {}, whole[name], least[name])
        elif name in least and least[name] == whole[name]:
            yield key.start_mark.line


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        ({"model": {"class_path": "lmod_train.models.modules.frozen.Frozen", "init_args": {"backnd": 1}}}, "backnd"),
        ({"trainer": {"max_epoch": 1}}, "max_epoch"),
        ({"data": {"curated": "c", "tasks": ["task/nowhere.yaml"]}}, "nowhere"),
    ],
)
def test_a_broken_experiment_does_not_parse(
    broken: dict[str, Any], named: str, parser: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    scripted = {
        "model": str(CONFIGS / "model" / "scripted.yaml"),
        "data": {"curated": "c", "tasks": [str(CONFIGS / "task" / "glaucoma.yaml")]},
    }
    file = tmp_path / "broken.yaml"
    file.write_text(yaml.safe_dump(scripted | broken))
    with pytest.raises(SystemExit):
        parsed(parser, "fit", "--config", file)
    assert named in capsys.readouterr().err
