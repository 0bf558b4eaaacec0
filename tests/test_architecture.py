"""The shape of the project: import arrows, rooms without torch, sizes, words, mirrors, no machine's paths.

Each check is a function of a folder that lists what breaks it, so that a seeded violation proves that it can fail.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

ARROWS: dict[str, set[str]] = {
    "core": set(),
    "scoring": {"core"},
    "models": {"core"},
    "phantom": {"core"},
    "tasks": {"scoring", "core"},
    "data": {"tasks", "scoring", "core"},
    "report": {"tasks", "scoring", "core"},
}
"""Room -> rooms that it imports."""
ARROWS["training"] = set(ARROWS)
ARROWS["cli"] = set(ARROWS)
ARROWS["extensions"] = set(ARROWS)  # imported by none: found by their folders
ARROWS[""] = set(ARROWS)  # the names of the package itself, imported when they are first used
ARROWS["__main__"] = {"cli", "core"}

INNER: dict[str, set[str]] = {
    "core": set(),
    "core.artifacts": {"core"},
    "tasks.parsing": set(),
    "tasks": {"tasks.parsing"},
    "tasks.failures": {"tasks", "tasks.parsing"},
    "data.sources.base": {"data.sources.gaps"},
    "data.sources.gaps": set(),
    "data.sources": {"data.sources.base", "data.sources.gaps"},
    "data.curation": {"data.sources.base"},
    "data.datamodules": set(),
    "data.audit": {"data.curation"},
    "data.cells": {"data.curation", "data.sources"},
    "data.formats": {"data.curation", "data.sources", "data.sources.base"},
    "models.vision": set(),
    "models.chat": set(),  # no arrow between the two houses of models
    "models.strategies": set(),
    "models.backends": {"models.chat"},
    "models.modules": {"models.vision", "models.chat", "models.strategies", "models.backends"},
    "training.callbacks": set(),
    "training.doctor": {"training.callbacks"},
    "training.evaluation": {"training.callbacks"},
    **{
        f"extensions.{folder.name}": set()
        for folder in (ROOT / "lmod_train" / "extensions").iterdir()
        if folder.is_dir()
    },
}
"""Part of a room -> parts of the same room that it imports."""

WITHOUT: dict[str, set[str]] = {
    "data.sources": {"tasks", "scoring"},
    "data.sources.base": {"tasks", "scoring"},
    "data.curation": {"scoring"},
    "data.datamodules": {"scoring"},
    "tasks.parsing": {"scoring"},
    "training.callbacks": {"models", "data", "report", "phantom"},
    "training.doctor": {"report", "phantom"},
}
"""Part -> rooms that its room imports and it does not."""

ROOMS = {*ARROWS} - {"", "__main__"}
WITHOUT_TORCH = ("core", "phantom", "scoring", "tasks", "data.sources", "data.curation", "data.audit", "data.cells",
                 "data.formats", "report", "cli", "extensions")  # fmt: skip
LOADED_LATE = {
    "lmod_train.scoring.metrics": "torchmetrics over scores, for callbacks",
    "lmod_train.cli.experiment": "Lightning's commands; the front door imports it when one is called",
    "lmod_train.cli.after_run": "what a command of Lightning prints at its end",
    "lmod_train.cli.examination": "imported by them",
    "lmod_train.cli.doctor": "imported when it is called",
    "lmod_train.extensions.drafting.model_runs": "runs that ask a model; imported when a command of the extension does",
    "lmod_train.extensions.dissection.states": "hooks in a model, imported by `dissect` when it has loaded one",
    "lmod_train.extensions.dissection.callback": "the callback of `dissect`",
    "lmod_train.extensions.dissection.linear_reading": "imported by `dissect` when the states are there",
    "lmod_train.extensions.reason.targets": "its datamodule, imported where it is named",
    "lmod_train.extensions.reason.rejection": "its datamodule, imported where it is named",
    "lmod_train.extensions.clip.towers": "networks, imported where one is named",
    "lmod_train.extensions.clip.zero_shot": "its module, imported where it is named",
    "lmod_train.extensions.ophthalwechat.datamodule": "its datamodule, imported where it is named",
    "lmod_train.extensions.xpcr.datamodule": "its datamodules, imported where one is named",
    "lmod_train.extensions.audit.image_processor": "of a checkpoint, imported by `audit` for one",
    **{
        f"lmod_train.extensions.weights.{name}": "tensors; imported when a command of the extension does"
        for name in (
            "convert",
            "tokenizer",
            "layout",
            "clip",
            "internvl",
            "llava",
            "llava_next",
            "language_model",
            "merging",
            "server_names",
        )
    },
    "lmod_train.extensions.collapse.lab": "trainings, imported by `collapse-lab` when it is called",
    "lmod_train.extensions.collapse.results": "their table, imported after them",
}

LINES_A_FILE, LINES_A_FUNCTION = 400, 50  # of code: blank lines, comments and docstrings are free
WORDS = {"engine", "manager", "handler", "util", "utils", "helper", "helpers", "trainer"}

TESTED_ELSEWHERE = {
    "__main__.py": "two lines; every test of tests/cli starts it",
    "data/formats/": "loaded by name; tests/data/formats writes and reads each",
    "models/chat/family/": "loaded by name; tests/models/chat holds the facts of each against its network",
    "report/published.py": "what sections ask an extension for; tests/extensions/papers fills it",
}
"""File or folder that no test of its folder imports, and what tests it."""


NAMED = re.compile(r"lmod_train(\.\w+)+(:\w+)?")
"""Path of a module or object of the package in a string, which counts as an import."""


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """Return all nodes of a file's syntax tree, the module first: several checks read each of a thousand files."""
    return tuple(ast.walk(ast.parse(text)))


@pytest.fixture(scope="module", autouse=True)
def _nodes_are_left() -> Iterator[None]:
    """Keep the trees, millions of objects, no longer than these tests."""
    yield
    nodes.cache_clear()


def modules(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield (module name, file) of the package below `root`."""
    for file in sorted((root / "lmod_train").rglob("*.py")):
        parts = file.relative_to(root).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), file


def imported(file: Path, module: str) -> Iterator[tuple[int, str]]:
    """Yield (line, full dotted name) of everything a file imports, inside functions too."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in nodes(file.read_text(encoding="utf-8")):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{name.name}") for name in node.names)


def named(file: Path) -> Iterator[str]:
    """Yield the full dotted names of the package's modules and objects that the strings of a file hold."""
    for node in nodes(file.read_text(encoding="utf-8")):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAMED.fullmatch(node.value):
            yield node.value.replace(":", ".")


def part_of(module: str) -> str:
    """Return the part of the package that a module stands in: a part of a room, otherwise the room."""
    inside = module.removeprefix("lmod_train").lstrip(".")
    parts = [part for part in (*INNER, *ROOMS, "__main__") if inside == part or inside.startswith(f"{part}.")]
    return max(parts, key=len, default="" if inside in ("", "__version__") else inside.partition(".")[0])


def backward_arrows(root: Path) -> list[str]:
    """List imports that the arrows do not have, between rooms and between the parts of one."""
    broken = []
    for module, file in modules(root):
        part = part_of(module)
        room = part.partition(".")[0]
        if room not in ARROWS:
            broken.append(f"{file.relative_to(root)}: room {room!r} has no place among the arrows")
            continue
        for line, name in imported(file, module):
            other = part_of(name)
            if not name.startswith("lmod_train.") or name == "lmod_train.__version__" or other == part:
                continue
            into = other.partition(".")[0]
            allowed = into in ARROWS[room] - WITHOUT.get(part, set())
            if into == room:
                allowed = part not in INNER or other in INNER[part]
            if not allowed:
                broken.append(f"{file.relative_to(root)}:{line}: {part or 'lmod_train'} must not import {name}")
    return broken


FILES_AN_EXTENSION = 12
"""Python files that an extension may have, its record included."""


def main_knows(root: Path) -> list[str]:
    """List where code or configs of the main path name an extension, in strings too."""
    files = [file for module, file in modules(root) if not module.startswith("lmod_train.extensions")]
    files += sorted((root / "configs").rglob("*.yaml"))
    return [
        f"{file.relative_to(root)}:{number}: {line.strip()[:90]}"
        for file in files
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"lmod_train\.extensions\.[a-z]", line)
    ]


def unlike_extensions(root: Path) -> list[str]:
    """List extensions that are not one flat folder of a few files with a record of their own name."""
    found = []
    for folder in sorted(
        p for p in (root / "lmod_train" / "extensions").iterdir() if p.is_dir() and p.name != "__pycache__"
    ):
        python, record = list(folder.rglob("*.py")), folder / "__init__.py"
        if len(python) > FILES_AN_EXTENSION:
            found.append(f"{folder.name}: {len(python)} files, at most {FILES_AN_EXTENSION}")
        if nested := [file.relative_to(folder).as_posix() for file in python if file.parent != folder]:
            found.append(f"{folder.name}: not flat: {', '.join(nested)}")
        if not record.is_file() or f'name="{folder.name}"' not in record.read_text(encoding="utf-8"):
            found.append(f"{folder.name}: no record of this name in __init__.py")
    return found


def code_lines(file: Path) -> set[int]:
    """Return the numbers of the lines that hold code: no blank line, no comment, no docstring."""
    prose = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    with file.open("rb") as text:
        tokens = [t for t in tokenize.tokenize(text.readline) if t.type not in prose | {tokenize.ENCODING}]
    lines = {line for t in tokens for line in range(t.start[0], t.end[0] + 1)}
    for node in nodes(file.read_text(encoding="utf-8")):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def may_be_long(text: str) -> bool:
    """Return whether a file or a function in it has more lines than allowed if all lines held code."""
    functions = [n for n in nodes(text) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    longest = max(((n.end_lineno or 0) - n.body[0].lineno + 1 for n in functions), default=0)
    return text.count("\n") > LINES_A_FILE or longest > LINES_A_FUNCTION


def too_long(root: Path) -> list[str]:
    """List files and functions with more code than one noun or one verb needs."""
    long = []
    for file in sorted([*(root / "lmod_train").rglob("*.py"), *(root / "scripts").rglob("*.py")]):
        if not may_be_long(file.read_text(encoding="utf-8")):
            continue  # counting the tokens of every file takes seconds
        lines = code_lines(file)
        table = file.parent.name == "vocabulary"  # clinical words, not code: as long as the clinic needs
        if len(lines) > LINES_A_FILE and not table:
            long.append(f"{file.relative_to(root)}: {len(lines)} lines of code, at most {LINES_A_FILE}")
        for node in nodes(file.read_text(encoding="utf-8")):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = lines & set(range(node.body[0].lineno, (node.end_lineno or 0) + 1))
                if len(body) > LINES_A_FUNCTION:
                    where = f"{file.relative_to(root)}:{node.lineno}"
                    long.append(f"{where}: {node.name} has {len(body)} lines of code, at most {LINES_A_FUNCTION}")
    return long


def words_not_used(root: Path) -> list[str]:
    """List files, folders and classes named by a word the glossary leaves out."""

    def words(name: str) -> set[str]:
        return {w.lower() for w in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}

    named = []
    for module, file in modules(root):
        where = file.relative_to(root)
        if words(module) & WORDS:
            named.append(f"{where}: file name")
        for node in nodes(file.read_text(encoding="utf-8")):
            if isinstance(node, ast.ClassDef) and words(node.name) & WORDS:
                named.append(f"{where}:{node.lineno}: class {node.name}")
    return named


def untested(root: Path) -> list[str]:
    """List files of the package that no test of their folder reaches: none imports the file, nor another file of the
    folder that imports it, directly or through others.
    """
    found = []
    files = dict(modules(root))
    for folder in sorted({file.parent for file in files.values()}):
        own = {module: file for module, file in files.items() if file.parent == folder}
        tests = (root / "tests" / folder.relative_to(root / "lmod_train")).rglob("test_*.py")
        left = [name for test in tests for _, name in imported(test, f"tests.{test.stem}")]
        reached: set[str] = set()
        if folder.parent.name == "extensions" and any(name.startswith("lmod_train.cli") for name in left):
            left.append(f"lmod_train.extensions.{folder.name}")  # the command line imports what its record names
        while left:
            name = left.pop()
            for module in {name, name.rpartition(".")[0]} & own.keys() - reached:
                reached.add(module)
                left += [*(other for _, other in imported(own[module], module)), *named(own[module])]
        names = sorted(own[module].relative_to(root / "lmod_train").as_posix() for module in own.keys() - reached)
        found += [name for name in names if holds_code(root / "lmod_train" / name)]
    return [name for name in found if not name.startswith(tuple(TESTED_ELSEWHERE))]


OPENERS = {"open_rgb", "open_picture", "picture_size", "picture_frame"}
"""Functions of core.pixels that open an image file by its path."""

OF_CURATED = ("models", "training", "report", "data/audit", "data/datamodules", "data/formats")
"""Rooms that read the images of curated folders, through `lmod_train.core.curated.Curated` alone."""

OPENS = {
    "models/backends/endpoint/image_urls.py": "bytes that `Curated` read",
    "data/audit/shortcut_classifiers.py": "a file that `Curated` checked, at a fraction of its size",
}
"""Files of these rooms that decode an image themselves -> what they decode."""


READS = ("core/raw.py", "models/chat/checkpoint.py", "models/chat/checkpoint_files.py")
"""Files that read YAML or a file of JSON in their own way."""


def other_openers(root: Path) -> list[str]:
    """Return where an image of a curated folder could be opened in another way than by `Curated`."""
    found = []
    for file in (f for room in OF_CURATED for f in sorted((root / "lmod_train" / room).rglob("*.py"))):
        if file.relative_to(root / "lmod_train").as_posix() in OPENS:
            continue
        for node in nodes(file.read_text(encoding="utf-8")):
            names = {alias.name for alias in node.names} if isinstance(node, ast.ImportFrom) else set()
            is_open = isinstance(node, ast.Attribute) and ast.unparse(node) in ("Image.open", "PIL.Image.open")
            if names & OPENERS or is_open:
                found.append(f"{file.relative_to(root)}:{node.lineno}")
    return found


def other_readers(root: Path) -> list[str]:
    """Return where YAML is read or written, or a file of JSON read, by something else than `lmod_train.core.raw`."""
    found = []
    for file in sorted((root / "lmod_train").rglob("*.py")):
        if file.relative_to(root / "lmod_train").as_posix() in READS:
            continue
        for node in nodes(file.read_text(encoding="utf-8")):
            own = isinstance(node, ast.ImportFrom) and node.module == "yaml"
            own |= (
                isinstance(node, ast.Attribute)
                and re.fullmatch(r"yaml\.(?!YAMLError)\w+", ast.unparse(node)) is not None
            )
            if isinstance(node, ast.Call) and (called := ast.unparse(node.func)) in ("json.load", "json.loads"):
                own |= (
                    called == "json.load" or re.search(r"\.read(_text|_bytes|line)?\(", ast.unparse(node)) is not None
                )
            if own:
                found.append(f"{file.relative_to(root)}:{node.lineno}")
    return found


def holds_code(file: Path) -> bool:
    module = nodes(file.read_text(encoding="utf-8"))[0]
    return any(not isinstance(node, ast.Expr) for node in ast.iter_child_nodes(module))


def machine_paths(root: Path) -> list[str]:
    """List lines that name a folder of somebody's machine."""
    pattern = re.compile(r"(?<![\w.~}>:/-])/(?:work|tmp|home|root|Users|mnt|scratch)/[\w.]")
    kinds = {".py", ".md", ".yaml", ".toml", ".sh", ".txt", ".json", ""}
    kept = ("lmod_train", "tests", "scripts", "configs", ".ci")
    files = [f for f in root.iterdir() if f.is_file()] + [f for k in kept for f in (root / k).rglob("*") if f.is_file()]
    return [
        f"{file.relative_to(root)}:{number}: {line.strip()[:80]}"
        for file in sorted(files)
        if file.suffix in kinds and not file.name.startswith(".") and "__pycache__" not in file.parts
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]


WRITERS = {"write_beside", "write_durably", "write_apart", "replace_folder", "new_folder"}
"""Functions of `core/files.py` and `core/lock.py` that yield a new name, to which anything may write."""
BY_PATH = {"write_text", "write_bytes", "mkdir", "touch", "unlink", "rmdir", "rename", "symlink_to", "hardlink_to",
           "savefig", "save_pretrained", "save", "savez", "savez_compressed", "save_file", "to_csv",
           "to_parquet", "ParquetWriter"}  # fmt: skip
OF_MODULES = {"os": {"open", "link", "symlink", "rename", "replace", "remove", "unlink", "mkdir", "makedirs", "rmdir",
                     "truncate"}, "shutil": {"copy", "copy2", "copyfile", "copytree", "move", "rmtree"}}  # fmt: skip
WRITE_ELSEWHERE = {
    "core/files.py": "the functions that all others use",
    "core/lock.py": "the lock itself",
    "core/raw.py": "opens files to read",
    "cli/__init__.py": "opens the null device",
    "data/curation/guard.py": "opens the null device",
    "models/strategies/saved.py": "the incomplete checkpoint that `keeping` removes before and renames after",
    "models/strategies/sharding_deepspeed.py": "the same",
    "models/chat/dialect.py": "a temporary folder of the system",
    "extensions/weights/merging.py": "parts of the new folder that `merge` begins",
    "extensions/weights/convert.py": "parts of the new folder that `convert` begins",
    "models/chat/delta.py": "parts of the new folder that is begun there",
    "extensions/weights/server_names.py": "the new folder of `merge`",
    "models/chat/base_files.py": "the new folder of `merge`",
    "extensions/reason/grpo.py": "parts of the new folder that `ExportFolder` begins",
    "data/formats/": "parts of the new folder that `ExportFolder` or a reading sheet begins",
}
"""File or folder that writes by other ways than those of `core/files.py`, and why."""


def root_name(node: ast.expr) -> str:
    """Return the variable that an expression such as `part / "a"` or `part.with_name(x)` begins with."""
    while not isinstance(node, ast.Name):
        inner = getattr(node, "left", None) or getattr(node, "value", None) or getattr(node, "func", None)
        if not isinstance(inner, ast.expr):
            return ""
        node = inner
    return node.id


def new_names(text: str) -> set[str]:
    """Return the variables of a file that a writer of `core/files.py` yields, that are opened there, or in memory."""
    found: set[str] = set()
    for node in nodes(text):
        items = node.items if isinstance(node, ast.With) else []
        pairs = [(one.context_expr, one.optional_vars) for one in items]
        if isinstance(node, ast.Assign):
            sides = node.value, node.targets[0]
            several = all(isinstance(side, ast.Tuple) for side in sides)
            pairs += zip(*(side.elts for side in sides), strict=True) if several else [sides]
        for value, target in pairs:
            if isinstance(value, ast.Call) and isinstance(target, ast.Name):
                called = value.func.attr if isinstance(value.func, ast.Attribute) else root_name(value.func)
                if called in (*WRITERS, "BytesIO") or (called == "open" and root_name(value.func) in found):
                    found.add(target.id)
    return found


def writes(node: ast.Call) -> bool:
    """Return whether a call writes to a path, as far as its name tells."""
    if not isinstance(node.func, ast.Attribute):
        opens = isinstance(node.func, ast.Name) and node.func.id == "open"
        return opens and any(isinstance(a, ast.Constant) and set("wax+") & set(str(a.value)) for a in node.args[1:])
    name, module = node.func.attr, root_name(node.func.value)
    if module in OF_MODULES:
        return name in OF_MODULES[module]
    if name in ("open", "ZipFile"):
        return any(isinstance(a, ast.Constant) and set("wax+") & set(str(a.value)) for a in node.args)
    if name == "replace":  # of a path, which has one argument; that of a text has two
        return len(node.args) == 1 and not node.keywords
    return name in BY_PATH


def other_writers(root: Path) -> list[str]:
    """List calls that write to a path by another way than through `core/files.py`."""
    found = []
    for _, file in modules(root):
        place = file.relative_to(root / "lmod_train").as_posix()
        if any(place == one or (one.endswith("/") and place.startswith(one)) for one in WRITE_ELSEWHERE):
            continue
        text = file.read_text(encoding="utf-8")
        new = new_names(text)
        for node in nodes(text):
            if isinstance(node, ast.Call) and writes(node):
                paths = [node.func, *node.args]
                if not new & {root_name(path) for path in paths}:
                    found.append(f"{place}:{node.lineno}: {ast.unparse(node)[:90]}")
    return found


def test_every_import_follows_an_arrow():
    assert backward_arrows(ROOT) == []


def test_the_main_path_knows_no_extension(tmp_path: Path):
    assert main_knows(ROOT) == []
    plant(tmp_path, "lmod_train/report/a.py", "PATH = 'lmod_train.extensions.xpcr.scores.swa'")
    plant(tmp_path, "lmod_train/extensions/xpcr/b.py", "from lmod_train.extensions.xpcr import tasks")
    plant(tmp_path, "configs/task/c.yaml", "class_path: lmod_train.extensions.xpcr.tasks.Chain")
    assert [line.partition(": ")[0] for line in main_knows(tmp_path)] == [
        "lmod_train/report/a.py:1",
        "configs/task/c.yaml:1",
    ]


def test_an_extension_is_one_flat_folder_of_a_few_files(tmp_path: Path):
    assert unlike_extensions(ROOT) == []
    plant(tmp_path, "lmod_train/extensions/own/__init__.py", 'EXTENSION = Extension(name="other", about="")')
    for number in range(FILES_AN_EXTENSION):
        plant(tmp_path, f"lmod_train/extensions/own/part_{number}.py", "")
    plant(tmp_path, "lmod_train/extensions/own/inner/a.py", "")
    assert unlike_extensions(tmp_path) == [
        f"own: {FILES_AN_EXTENSION + 2} files, at most {FILES_AN_EXTENSION}",
        "own: not flat: inner/a.py",
        "own: no record of this name in __init__.py",
    ]


def test_files_and_functions_are_short():
    assert too_long(ROOT) == []


def test_names_are_words_of_the_glossary():
    assert words_not_used(ROOT) == []


def test_every_file_is_reached_by_a_test_of_its_folder():
    assert untested(ROOT) == []
    assert [name for name in TESTED_ELSEWHERE if not (ROOT / "lmod_train" / name).exists()] == []


def test_curated_images_are_opened_in_one_way(tmp_path: Path):
    assert other_openers(ROOT) == []
    plant(tmp_path, "lmod_train/report/a.py", "from lmod_train.core.pixels import open_rgb\n")
    plant(tmp_path, "lmod_train/data/formats/b.py", "from PIL import Image\nx = Image.open('eye.jpg')\n")
    plant(tmp_path, "lmod_train/data/sources/c.py", "from lmod_train.core.pixels import open_rgb\n")
    assert [line.rpartition("/")[2] for line in other_openers(tmp_path)] == ["a.py:1", "b.py:2"]


def test_yaml_and_files_of_json_are_read_in_one_way(tmp_path: Path):
    assert other_readers(ROOT) == []
    assert all((ROOT / "lmod_train" / place).exists() for place in READS)
    fine = "x = read_yaml(p)\ny = json.loads(text)\nz = json.loads(decoded(read_bytes(p)))\ne = yaml.YAMLError\n"
    plant(tmp_path, "lmod_train/report/a.py", fine)
    assert other_readers(tmp_path) == []
    several = "yaml.safe_load(t)", "yaml.parse(t)", "from yaml import CLoader", "yaml.dump(x)", "json.load(f)"
    several += "json.loads(p.read_text())", "json.loads((a / b).read_bytes())", "[json.loads(s.readline()) for s in t]"
    plant(tmp_path, "lmod_train/report/b.py", "\n".join(several))
    assert len(other_readers(tmp_path)) == len(several)


def test_no_path_of_a_machine_is_left_in_the_project():
    assert machine_paths(ROOT) == []


def test_files_are_written_by_the_functions_that_follow_no_link():
    assert other_writers(ROOT) == []
    assert all((ROOT / "lmod_train" / place).exists() for place in WRITE_ELSEWHERE)


def test_rooms_without_torch_load_without_torch():
    late = tuple(f"{m}." for m in LOADED_LATE)
    light = [
        m
        for m, _ in modules(ROOT)
        if f"{part_of(m)}.".startswith(tuple(f"{part}." for part in WITHOUT_TORCH)) and not f"{m}.".startswith(late)
    ]
    program = "import importlib, sys\n" + "\n".join(
        f"importlib.import_module({m!r}); 'torch' in sys.modules and sys.exit({m + ' imports torch'!r})" for m in light
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert len(light) >= len(WITHOUT_TORCH)
    assert (done.returncode, done.stderr) == (0, "")


def plant(root: Path, path: str, text: str) -> Path:
    """Write one file of a seeded tree and return the tree's root."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return root


def test_a_seeded_backward_arrow_is_found_in_each_of_its_spellings(tmp_path: Path):
    plant(tmp_path, "lmod_train/scoring/b.py", "def late():\n    import lmod_train.tasks.base")
    plant(tmp_path, "lmod_train/tasks/c.py", "from lmod_train import data, scoring")
    plant(tmp_path, "lmod_train/elsewhere/e.py", "")
    plant(
        tmp_path, "lmod_train/cli/f.py", "from lmod_train.models.modules import g\nfrom .parse import call\nimport os"
    )
    plant(tmp_path, "lmod_train/core/g.py", "from ..cli import main\nfrom lmod_train import __version__")
    assert [line.partition(": ")[2] for line in backward_arrows(tmp_path)] == [
        "core must not import lmod_train.cli.main",
        "room 'elsewhere' has no place among the arrows",
        "scoring must not import lmod_train.tasks.base",
        "tasks must not import lmod_train.data",
    ]


def test_a_seeded_arrow_inside_a_room_is_found(tmp_path: Path):
    base = "from lmod_train.data.sources.base import Source"
    plant(tmp_path, "lmod_train/tasks/parsing/a.py", "from lmod_train.tasks.base import Task")
    plant(tmp_path, "lmod_train/data/curation/d.py", f"{base}\nfrom ..sources import x")
    plant(tmp_path, "lmod_train/data/sources/xpcr/s.py", f"{base}\nfrom lmod_train.tasks import chain")
    plant(tmp_path, "lmod_train/models/chat/v.py", "from lmod_train.models.vision import crops")
    plant(tmp_path, "lmod_train/models/vision/c.py", "from lmod_train.models.chat.masks import Mask")
    plant(tmp_path, "lmod_train/models/modules/m.py", "from lmod_train.models.chat.masks import Mask")
    plant(tmp_path, "lmod_train/core/files.py", "from lmod_train.core.artifacts import run")
    assert [line.partition(": ")[2] for line in backward_arrows(tmp_path)] == [
        "core must not import lmod_train.core.artifacts.run",
        "data.curation must not import lmod_train.data.sources.x",
        "data.sources must not import lmod_train.tasks.chain",
        "models.chat must not import lmod_train.models.vision.crops",
        "models.vision must not import lmod_train.models.chat.masks.Mask",
        "tasks.parsing must not import lmod_train.tasks.base.Task",
    ]


def test_the_top_of_the_package_is_ten_rooms_and_four_files():
    found = {p.name for p in (ROOT / "lmod_train").iterdir() if p.name != "__pycache__"}
    assert found - {"configs"} == ROOMS | {"__init__.py", "__init__.pyi", "__main__.py", "py.typed"}


def test_a_seeded_long_file_and_a_seeded_long_function_are_found(tmp_path: Path):
    body = "".join(f"    x{i} = {i}\n" for i in range(LINES_A_FUNCTION))
    prose = '    """Doc.\n' + "\n    more\n" * 60 + '    """\n    # why\n\n'
    plant(tmp_path, "lmod_train/short.py", "def f():\n" + prose + body)
    plant(tmp_path, "lmod_train/verb.py", "def f():\n" + prose + body + "    y = 1\n")
    plant(tmp_path, "scripts/noun.py", "x = 1\n" * (LINES_A_FILE + 1))
    assert too_long(tmp_path) == [
        f"lmod_train/verb.py:1: f has {LINES_A_FUNCTION + 1} lines of code, at most {LINES_A_FUNCTION}",
        f"scripts/noun.py: {LINES_A_FILE + 1} lines of code, at most {LINES_A_FILE}",
    ]


def test_seeded_words_paths_and_files_without_a_test_are_found(tmp_path: Path):
    plant(tmp_path, "lmod_train/models/chat/io_utils.py", "class HTTPHandler: ...\nclass Umbrella: ...")
    plant(tmp_path, "configs/x.yaml", "root: " + "/".join(["", "home", "me", "data"]) + "\nref: https://x.org/home/a")
    assert [w.rpartition(": ")[2] for w in words_not_used(tmp_path)] == ["file name", "class HTTPHandler"]
    assert [p.partition(": ")[0] for p in machine_paths(tmp_path)] == ["configs/x.yaml:1"]
    assert untested(tmp_path) == ["models/chat/io_utils.py"]
    plant(tmp_path, "tests/models/chat/test_both.py", "from lmod_train.models.chat.io_utilities import x")
    assert len(untested(tmp_path)) == 1
    plant(tmp_path, "lmod_train/models/chat/part.py", "from lmod_train.models.chat.whole import x\ny = x")
    plant(tmp_path, "lmod_train/models/chat/whole.py", "x = 1")
    plant(tmp_path, "tests/models/chat/test_both.py", "from lmod_train.models.chat.io_utils import Umbrella")
    assert untested(tmp_path) == ["models/chat/part.py", "models/chat/whole.py"]
    plant(tmp_path, "tests/models/chat/test_other.py", "from lmod_train.models.chat import part")
    assert untested(tmp_path) == [], "one through the other"


def test_seeded_writers_that_follow_links_are_found(tmp_path: Path):
    fine = "with write_durably(p) as part, part.open('w') as f:\n    f.write('')\n    x.save(part / 'a')\n"
    plant(tmp_path, "lmod_train/report/a.py", fine + "b = io.BytesIO()\nx.save(b)\nt.replace('a', 'b')\np.open('rb')")
    assert other_writers(tmp_path) == []
    several = "p.write_text('')", "open(p, 'a')", "(p / 'x').mkdir()", "shutil.copy2(a, p)", "os.replace(a, b)"
    several += "torch.save(x, p)", "p.open('wb')", "a.replace(p)", "figure.savefig(p)", "zipfile.ZipFile(p, 'w')"
    plant(tmp_path, "lmod_train/report/b.py", "\n".join(several))
    assert len(other_writers(tmp_path)) == len(several)
