"""Commands that fail print what to type next, and what they print is typed here: each cure ends with status 0."""

from __future__ import annotations

import csv
import difflib
import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lmod_train.cli import FOLLOWING, main
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.shipped import configs_folder
from lmod_train.phantom.folders import eye_diseases, refuge
from tests.cli.printed import OURS, whole

PUT = {
    "RAW": "raw", "CURATED": "curated", "RUN": "run", "CONFIG": "own.yaml", "MODEL": "scripted", "NAME": "scripted",
    "PATH": "raw/REFUGE", "SOURCE": "refuge", "FILE": "own.yaml", "N": "2", "PACK": "run.lmodpack", "CLASS": "data",
}  # fmt: skip
"""Word in capitals -> what it stands for in the folder of these tests; any other names something new."""

OWN_TASK = """from lmod_train.tasks.glaucoma import Glaucoma


class Mine(Glaucoma):
    name = "mine"
"""


@dataclass(frozen=True)
class Case:
    """A command that fails, and what is done before it.

    Attributes:
        typed: The command.
        before: Commands, or changes of the folder by their names in `CHANGES`, that come first.
        put: Words of the cures that stand for something else than in `PUT`.
        only: Cures that are typed; all that are printed if empty.
        slow: Whether it takes more than a few seconds.
    """

    typed: str
    before: tuple[str, ...] = ()
    put: dict[str, str] = field(default_factory=dict)
    only: str = ""
    slow: bool = False

    @property
    def id(self) -> str:
        return self.typed[:90]


def case(typed: str, *before: str, only: str = "", slow: bool = False, **put: str) -> Case:
    return Case(typed, before, put, only, slow)


ASK = "validate --model scripted --data.curated curated --run new"
FIT = "fit --model cnn --data.curated curated --data.tasks glaucoma --trainer.max_steps 1 --run new"
CASES = [
    # names of commands, options, configs, models, tasks, sources, sections and classes
    case("lst tasks"),
    case("zzz"),
    case("validat --model scripted --data.curated curated --run new"),
    case("draft rview --help"),
    case("list options idrd"),
    case("list options zzz"),
    case("list tasks idrid"),
    case("list sources --table"),
    case("validate zero_shot --model scripted --data.curated curated --run new"),
    case("validate --config zero_sht --model scripted --data.curated curated --run new"),
    case("curate --config quickstrt --raw raw --out new"),
    case("report run --config lmodplus --out new", slow=True),
    case(f"{ASK} --trainer.max_epoch 3"),
    case(f"{ASK} --data.batchsize 3"),
    case(f"{ASK} --evaluaton.log_subsets true"),
    case(f"{ASK} --zzz 3"),
    case("validate --model scriptd --data.curated curated --run new"),
    case("validate --model zzz --data.curated curated --run new"),
    case(f"{ASK} --trainer cp"),
    case(f"{ASK} --data.tasks glaucma"),
    case(f"{ASK} --data.tasks zzz"),
    case(f"{ASK} --data.sources refug"),
    case(f"{ASK} --data.split tset"),
    case(f"{ASK} --data.limit many", slow=True),
    case("curate --raw raw --out new --tasks glaucma"),
    case("curate --raw raw --out new --sources refug"),
    case("curate --raw raw --out new --tasks+ anatomy"),
    case("curate --raw raw --out new --rato 3"),
    case("curate --raw raw --out new --split_by grup"),
    case("curate --raw raw --out new --tasks"),
    case("report run --out new --sections scors"),
    case("report run --out new --onefile true"),
    case("subset curated --tasks glaucma"),
    case("export curated --to llava --out new --for_own_use --tasks glaucma"),
    case("judge run --sheet new.csv --tasks glaucma"),
    case("phantom --out new --n 3 --sources refug"),
    case("phantom --out new --n 3 --sources zzz"),
    # tasks of a folder
    case("validate --config cnn_anatomy --model scripted --data.curated curated --run new", "two tasks"),
    case("fit --config cnn_anatomy --data.curated curated --run new --trainer.max_steps 1", "two tasks", slow=True),
    case("fit --model cnn --data.curated curated --run new --trainer.max_steps 1", "two tasks", slow=True),
    case(f"{ASK} --data.tasks sex", CONFIG="quickstart"),
    case("validate --model scripted --data.curated curated --run new", "own task"),
    case(f"{ASK} --data.tasks mine", "own task"),
    # folders
    case("validate --model scripted --data.curated raw --run new", NEW="other"),
    case("validate --model scripted --data.curated nowhere --run new"),
    case("blind raw", NEW="other"),
    case("subset nowhere"),
    case("validate --model scripted --data.curated curated --run curated", RUN="new"),
    case("validate --model scripted --data.curated curated --run raw", RUN="new"),
    case("validate --model scripted --data.curated curated --run run --data.limit 1", DIR="new"),
    case("validate --model cnn --data.tasks glaucoma --data.curated curated --run new --ckpt_path gone.ckpt",
         FIT.replace("new", "fit"), slow=True, **{"RUN/checkpoints/last.ckpt": "fit/checkpoints/last.ckpt"}),
    case("curate --raw raw --out raw", DIR="new"),
    case("curate --raw raw --out new --seed 4", "curate --raw raw --out new --seed 3", DIR="other"),
    case("curate --raw empty --out new", "empty folder", only="python", slow=True),
    case("curate --out new"),
    case("curate --raw raw --out new --roots.refge raw/REFUGE"),
    case("curate --raw raw --out new --roots.refuge nowhere", CURATED="new2"),
    case("curate --raw raw --out new --accept curated/dropped.csv"),
    case("curate --raw raw --out new --strict", "a damaged photograph", only="^cp|^python"),
    case("curate --raw raw --out new --balance nothing"),
    case("report run", slow=True),
    case("report", slow=True),
    case("report run --out curated", slow=True),
    case("report run --out run", slow=True),
    case("report run --out raw", slow=True),
    case("report run --pack run"),
    case("report --verify run.lmodpack", "report --pack run --curated curated"),
    case("report --verify run.lmodpack --curated curated", "report --pack run --curated curated"),
    case("report --pack run --curated curated --out own.csv", **{"RUN.lmodpack": "r.lmodpack"}),
    case("report run --out new", "no scores"),
    case("report raw --out new"),
    case("rescore run", "no records", CONFIG="run/config.yaml"),
    case("rescore raw"),
    case("rescore nowhere"),
    # options that do not fit together, and values out of range
    case(f"{ASK} --data.regime cas_all --data.asking.orders 2"),
    case(f"{ASK} --data.asking.shots 1 --data.split train"),
    case(f"{ASK} --data.shard 5", **{"1/n": "1/2", "n/n": "2/2"}),
    case(f"{ASK} --trainer.accelerator gpu", only="accelerator"),
    case(f"{ASK} --data.subset nothing.txt", only="subset"),
    case(f"{ASK} --seeds x", slow=True),
    case(f"{ASK} --seeds 0", slow=True),
    case(f"{ASK} --folds 1", slow=True),
    case("validate --model scripted --data.curated curated --run run --seeds 2", RUN="new", slow=True),
    case("fit --model scripted --data.curated curated --run new", only="list"),
    case("answers --curated curated"),
    case("answers --blank new --curated curated"),
    case("answers filled.csv --curated curated", "a filled sheet"),
    case("judge run"),
    case("judge run --sheet new.csv"),
    case("draft review nowhere --curated curated"),
    case("draft review nowhere --curated curated --blank new.csv"),
    case("draft review-captions nowhere"),
    case("export curated --to llava --out raw --for_own_use", DIR="new"),
    case("export curated --to llava --out new", "a licence"),
    case("import talk.json --images nowhere --out new", "a conversation", DIR="raw"),
    case("import talk.json --images raw --out raw", "a conversation", DIR="new"),
    case(f"{FIT} --checkpoint.monitor val/score", only="save_top_k", slow=True),
    case(f"{FIT} --best.by loss --best.patience -1", only="best", slow=True),
    case(f"{FIT} --data.replay 0.1", "a conversation", slow=True, FILE="talk.json", DIR="raw", CURATED="new2"),
    case("judge run --verdicts verdicts.csv --tasks glaucoma --labels a", "verdicts of three"),
    case("judge run --verdicts verdicts.csv --tasks glaucoma --right zzz", "verdicts"),
    case("judge run --verdicts verdicts.csv --tasks glaucoma --prompt zzz", "verdicts", only="^--"),
    case("answers --blank new.csv --curated curated --split val --subset ids.txt", "ids of the test split"),
    case("import talk.json --images raw --out new --name 1x", "a conversation"),
    case("curate --raw raw --out new --workers -1"),
    case("curate --raw raw --out new --ratio 1"),
    case("report --verify run.lmodpack --curated curated --out raw", "report --pack run --curated curated"),
    case(f"{ASK} --against nowhere", slow=True),
    case(f"{ASK} --data.modality CPF"),
    case("subset curated --n 2 --split tset"),
    case("subset curated --n 2", "damaged records", CONFIG="quickstart"),
    case("list sources --csv"),
    case("rescore"),
    case("audit own.csv curated"),
    case("audit zzz curated"),
    case("validate --model small_base_lora --model.init_args.checkpoint nowhere --data.curated curated --run new",
         only="table", slow=True),
    case("draft ask curated --model scripted --out new --stages XX", slow=True),
    case("draft review run --curated curated --blank new.csv", slow=True),
    # trust and links
    case("rescore run", "own task in the run"),
    case("report run --out new", "own task in the run", slow=True),
    case("subset curated --n 3", "a link"),
]  # fmt: skip


def two_tasks() -> None:
    (Path("curated") / "records" / "anatomy.parquet").unlink()
    file = Path("curated") / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["counts"]["anatomy"] = {}
    file.write_text(json.dumps(manifest))


def own_task() -> None:
    Path("own_task.py").write_text(OWN_TASK)
    shutil.rmtree("curated")
    assert main(["curate", "--raw", "raw", "--out", "curated", "--tasks", "[own_task.Mine]"]) == 0


def own_task_in_the_run() -> None:
    own_task()
    shutil.rmtree("run")
    ask = ["validate", "--model", "scripted", "--data.curated", "curated", "--run", "run", "--data.split", "all"]
    assert main([*ask, "--trust", "own_task"]) == 0


def damaged_photograph() -> None:
    next(Path("raw").rglob("*.jpg")).write_bytes(b"no photograph")


def no_scores() -> None:
    (Path("run") / "scores.csv").unlink()


def no_records() -> None:
    (Path("run") / "records.parquet").unlink()


def filled_sheet() -> None:
    assert main(["answers", "--blank", "filled.csv", "--curated", "curated", "--tasks", "four_way"]) == 0
    with Path("filled.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = [row | {"answer": "normal"} for row in csv.DictReader(file)]
    with Path("filled.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def a_conversation() -> None:
    image = next(Path("raw").rglob("*.jpg")).relative_to("raw").as_posix()
    turns = [{"from": "human", "value": "<image>\nWhat is it?"}, {"from": "gpt", "value": "An eye."}]
    Path("talk.json").write_text(json.dumps([{"id": "1", "image": image, "conversations": turns}]))


def verdicts() -> None:
    ids = [p.record.id for p in read_predictions(Path("run") / "predictions.parquet") if p.record.task == "glaucoma"]
    Path("verdicts.csv").write_text("\n".join(["id,verdict", *(f"{id},TRUE" for id in ids)]) + "\n")


def verdicts_of_three() -> None:
    verdicts()
    file = Path("verdicts.csv")
    file.write_text(file.read_text().replace("TRUE", "correct"))


def ids_of_the_test_split() -> None:
    ids = [r.id for r in read_records(Path("curated") / "records") if r.split == "test"]
    Path("ids.txt").write_text("\n".join(ids) + "\n")


def damaged_records() -> None:
    (Path("curated") / "records" / "four_way.parquet").write_bytes(b"PAR1")


def a_licence() -> None:
    file = Path("curated") / "manifest.json"
    manifest = json.loads(file.read_text())
    for source in manifest["sources"].values():
        source["redistributable"] = False
        source["phantom"] = False
    file.write_text(json.dumps(manifest))


def a_link() -> None:
    image = next((Path("curated") / "images").rglob("*.*"))
    shutil.move(image, "elsewhere")
    image.symlink_to(Path("elsewhere").absolute())
    shutil.move("curated/records", "records")
    Path("curated/records").symlink_to(Path("records").absolute())


CHANGES: dict[str, Callable[[], object]] = {
    "two tasks": two_tasks, "own task": own_task, "own task in the run": own_task_in_the_run,
    "a damaged photograph": damaged_photograph, "no scores": no_scores, "no records": no_records,
    "a filled sheet": filled_sheet, "a conversation": a_conversation, "a licence": a_licence, "a link": a_link,
    "verdicts": verdicts, "verdicts of three": verdicts_of_three,
    "ids of the test split": ids_of_the_test_split, "damaged records": damaged_records,
    "empty folder": lambda: Path("empty").mkdir(),
}  # fmt: skip


@pytest.fixture(scope="module")
def places(curated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with raw phantoms, records of them, and a run."""
    folder = tmp_path_factory.mktemp("places")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        shutil.copytree(curated, "curated")
        Path("configs").symlink_to(configs_folder())
        for drawn in (eye_diseases, refuge):
            drawn.write(Path("raw"), 12, 0, size=128, workers=0)  # small: each command curates or copies them again
        ask = ["validate", "--model", "scripted", "--data.curated", "curated", "--run", "run", "--data.split", "all"]
        assert main(ask) == 0
        shutil.copy("run/config.yaml", "own.yaml")
        Path("own.csv").write_text("a,b\n1,2\n")
    return folder


def status_of(words: Sequence[str]) -> int:
    """Return the exit status of a command of ours, or of the shell's ``cp``."""
    if words[0] == "cp":
        shutil.copy(*words[1:])
        return 0
    try:
        with pytest.MonkeyPatch.context() as patched:  # some cures repeat what was typed
            patched.setattr("sys.argv", ["lmod_train", *words])
            return main(list(words))
    except SystemExit as ended:
        return int(ended.code or 0)


def filled(cure: str, put: dict[str, str]) -> list[str]:
    """Return the words of a cure with names in the place of its capitals."""
    return [(PUT | put).get(word, word) for word in shlex.split(cure)]


def applied(typed: list[str], options: list[str]) -> list[str]:
    """Return a command with printed options in the place of those it has, of a misspelt one, or of a stray word."""
    words, left = list(typed), list(options)
    while left:
        name = left.pop(0)
        value = [left.pop(0)] if left and not left[0].startswith("--") else []
        if not value and name not in FLAGS and name not in words:  # a misspelt option keeps its value
            (near,) = difflib.get_close_matches(name, [w for w in words if w.startswith("--")], n=1, cutoff=0.4)
            words[words.index(near)] = name
            continue
        for old in (name, f"{name}+"):
            while old in words:
                at = words.index(old)
                end = at + 2 if at + 1 < len(words) and not words[at + 1].startswith("--") else at + 1
                del words[at:end]
        words = [w for before, w in zip(["--", *words], words, strict=False) if w not in value or before[:1] == "-"]
        words += [name, *value]
    return words


FLAGS = ("--published", "--strict", "--for_own_use", FOLLOWING)


def cures(text: str, only: str) -> Iterator[str]:
    """Yield the printed cures; options that are only mentioned, without a value, are left out."""
    for cure in dict.fromkeys(whole(text)):
        mentioned = cure.startswith("--") and " " not in cure and cure not in FLAGS and "did you mean" not in text
        if not mentioned and re.search(only, cure):
            yield cure


@pytest.mark.parametrize("case", [pytest.param(c, marks=pytest.mark.slow if c.slow else [], id=c.id) for c in CASES])
def test_what_a_failed_command_prints_works(
    case: Case, places: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    here = shutil.copytree(places, tmp_path / "here", symlinks=True)
    monkeypatch.chdir(here)
    for step in case.before:
        CHANGES[step]() if step in CHANGES else status_of(shlex.split(step))
    typed = shlex.split(case.typed)
    capsys.readouterr()
    assert status_of(typed) == 2
    error = capsys.readouterr().err
    assert "Next: " in error and "Traceback" not in error
    found = list(cures(error, case.only))
    assert found, error
    for number, cure in enumerate(found):
        again = here if cure.startswith("cp ") else shutil.copytree(here, tmp_path / str(number), symlinks=True)
        monkeypatch.chdir(again)
        words = filled(cure.removeprefix(OURS), case.put)
        command = applied(typed, words) if cure.startswith("--") else words
        assert status_of(command) == 0, (error, shlex.join(command), capsys.readouterr().err)


def test_there_are_cases():
    assert len(CASES) >= 100
