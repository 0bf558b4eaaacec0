"""Every error names what was given and what was expected, and ends with the next thing to type."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path

from lmod_train.core import errors
from lmod_train.core.errors import (
    ArtifactError,
    BadArgument,
    BadSample,
    ConfigDamaged,
    CuratedDamaged,
    CurationConflict,
    ExtensionMissing,
    FolderBusy,
    FolderConflict,
    JudgeConflict,
    LeavesFolder,
    LinkInFolder,
    LmodError,
    MissingPieces,
    NoFile,
    NotAsked,
    NotConvertible,
    NotCurated,
    NothingToCurate,
    NotScored,
    PackDamaged,
    RunConflict,
    SourceNotFound,
    StrictDrops,
    Unbuildable,
    Untrusted,
    WeightsMismatch,
    WeightsNotFound,
)

CASES: list[tuple[LmodError, list[str]]] = [
    (PackDamaged(Path("a.lmodpack"), "is no pack"), ["a.lmodpack: is no pack", "report --pack RUN"]),
    (
        SourceNotFound("refuge", Path("raw/x"), "train.zip", "  REFUGE/train"),
        ["'refuge'", "train.zip", "root='raw/x'", "Expected", "REFUGE/train", "curate --roots.refuge PATH"],
    ),
    (
        NothingToCurate(Path("raw"), ["eye_diseases", "refuge"]),
        [
            "raw='raw'",
            "eye_diseases, refuge",
            "list sources",
            "names their classes: `--config FILE`",
            "phantom --out PHANTOMS",
        ],
    ),
    (
        ExtensionMissing("12 records of task lens need the extension lenses, which is not here", "lenses"),
        ["12 records", "task lens", "extension lenses", "an installation of lmod_train that has this extension"],
    ),
    (
        JudgeConflict(Path("runs/a/judgements/qwen"), ["labels: ['TRUE', 'FALSE'] -> ['yes', 'no']"]),
        ["name='qwen'", "runs/a/judgements/qwen", "labels: ['TRUE', 'FALSE'] -> ['yes', 'no']", "`--name NAME`"],
    ),
    (
        LinkInFolder(Path("runs/a/x y"), Path("/etc/b"), Path("runs/a")),
        ["runs/a/x y: expected a file", "link to '/etc/b'", "`rm 'runs/a/x y'`", "`cp -rL runs/a runs/a-copied`"],
    ),
    (
        FolderBusy("--run", Path("runs/a"), {"pid": 7, "host": "b"}, "if that machine is off"),
        ["`kill 7` on b", "if that machine is off, remove its lock: `rm runs/a/.lock`"],
    ),
    (
        FolderBusy("--run", Path("runs/a"), {"pid": 7, "host": "a", "since": "now", "command": "fit"}),
        ["--run='runs/a'", "process 7 on a, since now: fit", "`kill 7` on a", "--run DIR"],
    ),
    (
        Untrusted("evil.X", "evil", Path("here/evil.py"), ""),
        ["task_class='evil.X'", "expected a class of this package", "here/evil.py", "`--trust evil`"],
    ),
    (Untrusted("evil.X", "evil", None, ""), ["'evil.X'", "no module of that name", "in the folder of its file"]),
    (Untrusted("evil.X", "evil", Path("run/evil.py"), "run"), ["'evil.X'", "code in run is never run"]),
    (FolderBusy("run", Path("runs/a"), {}), ["run='runs/a'", "just started", "wait until it has ended."]),
    (ArtifactError(Path("run/scores.csv"), "missing", "`rescore run`"), ["run/scores.csv", "missing", "`rescore run`"]),
    (CuratedDamaged(Path("c/r.parquet"), "no Parquet"), ["c/r.parquet", "no Parquet", "new folder", "--out NEW"]),
    (
        LeavesFolder(Path("c/r.parquet"), "names '../x.jpg'"),
        ["c/r.parquet", "'../x.jpg'", "curate --raw RAW --out NEW"],
    ),
    (NoFile(Path("c/x y"), "a pipe"), ["c/x y: expected a file or folder; this is a pipe", "`rm 'c/x y'`"]),
    (LeavesFolder(Path("c/1.jpg"), "a link to /x.jpg", link=True), ["c/1.jpg", "/x.jpg", "--follow_links"]),
    (ConfigDamaged(Path("my run/config.yaml"), "no YAML"), ["my run/config.yaml", "no YAML", "config.yaml.damaged"]),
    (Unbuildable("devices=0: no devices"), ["devices=0: no devices"]),
    (NotConvertible(Path("a b"), "it holds no config.json", "mend the path"), ["a b: not converted", "no config.json"]),
    (
        MissingPieces({"data": NotCurated(Path("a b")), "disk": BadArgument("--run", "r", "room", "free some")}),
        [
            "2 things are missing",
            "data: a b/manifest.json",
            "  Next: name a folder",
            "disk: --run='r'",
            "  Next: free some",
        ],
    ),
    (NotCurated(Path("a b")), ["a b/manifest.json", "not curated", "--raw RAW --out 'a b'"]),
    (NotScored(Path("my run/scores.csv"), "missing"), ["my run/scores.csv", "missing", "validate --config CONFIG"]),
    (NotAsked(Path("my run/r.parquet"), "no Parquet"), ["my run/r.parquet", "no Parquet", "--run 'my run'"]),
    (
        RunConflict(Path("runs/a"), ["model.lr: 1 -> 2", "seed: 0 -> 1"]),
        ["run='runs/a'", "was -> now", "  model.lr: 1 -> 2\n", "  seed: 0 -> 1\n", "--run DIR"],
    ),
    (
        WeightsNotFound("model.checkpoint", "base", "no such folder", "download it"),
        ["model.checkpoint='base'", "no such folder", "download it"],
    ),
    (
        WeightsMismatch("a.ckpt", ["w1"], ["u1", "u2"], "use its own config"),
        ["a.ckpt", "missing: w1;", "unexpected: u1, u2)", "Nothing was loaded", "use its own config"],
    ),
    (BadArgument("--n", 0, "at least 1", "leave it out"), ["--n=0", "expected at least 1", "leave it out"]),
    (
        CurationConflict(Path("curated"), ["seed: 0 -> 1"]),
        ["out='curated'", "was -> now", "  seed: 0 -> 1\n", "--out DIR"],
    ),
    (
        FolderConflict("out", Path("elsewhere"), "begun by another", ["n: 1 -> 2", "m: 3 -> 4"]),
        ["out='elsewhere' was begun by another", "  n: 1 -> 2\n  m: 3 -> 4\n", "--out DIR"],
    ),
    (
        StrictDrops(Path("curated/dropped.csv"), ["refuge read damaged: 2"]),
        ["strict=True", "refuge read damaged: 2", "curated/dropped.csv", "without `--strict`"],
    ),
    (
        StrictDrops(
            Path("a b/dropped.csv"), ["x"], "python -m lmod_train curate --accept old.csv --out 'a b' --strict"
        ),
        [
            "`cp 'a b/dropped.csv' 'a b-accepted.csv'`",
            "`python -m lmod_train curate --out 'a b' --strict --accept 'a b-accepted.csv'`",
        ],
    ),
    (
        BadSample("clinic", "eye1", "labels['glaucoma'] is 1 (int), expected str", "clinic.Clinic"),
        ["source 'clinic'", "key 'eye1'", "is 1 (int), expected str", "`clinic.Clinic`", "SourceContract"],
    ),
]


def test_every_error_of_the_project_is_tried_here():
    ours = {c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, LmodError)} - {LmodError}
    assert ours == {type(error) for error, _ in CASES}


def test_errors_name_the_value_what_was_expected_and_what_comes_next():
    for error, parts in CASES:
        said = str(error)
        assert [part for part in parts if part not in said] == [], said
        last = said.splitlines()[-1]
        assert last.startswith("Next: ") and len(last) > len("Next: ") and said.count("\nNext: ") == 1, said


def test_long_lists_of_weights_are_cut_and_counted():
    names = [f"layer.{i}" for i in range(9)]
    said = str(WeightsMismatch("a.ckpt", names, [], "x"))
    assert "missing: layer.0, layer.1, layer.2, layer.3, layer.4, layer.5 and 3 more; unexpected: none" in said
    assert "layer.6" not in said


def test_a_value_that_is_a_text_is_told_from_one_that_is_not():
    assert "n='1'" in str(BadArgument("n", "1", "a number", "x")) and "n=1:" in str(BadArgument("n", 1, "two", "x"))


def test_errors_travel_between_processes_as_they_are():
    """A worker's error must come back as it was: one that cannot be unpickled breaks the whole pool."""
    for error, _ in CASES:
        back = pickle.loads(pickle.dumps(error))
        assert type(back) is type(error) and str(back) == str(error)
