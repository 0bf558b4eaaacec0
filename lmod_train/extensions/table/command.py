"""The commands `curate --table` and `import`: tables and images become records, and what was understood is printed."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse.typing import NonNegativeInt

from lmod_train.cli.curation import print_written
from lmod_train.core.errors import BadArgument, LeavesFolder, LmodError
from lmod_train.core.extension import joined, loaded
from lmod_train.core.links import follows
from lmod_train.core.lock import locked

if TYPE_CHECKING:
    from lmod_train.data.cells.image_names import Folder
    from lmod_train.data.sources.grid import Grid
    from lmod_train.extensions.table.law import Law
    from lmod_train.extensions.table.meanings import Column, Place
    from lmod_train.extensions.table.plan import Plan
    from lmod_train.tasks.base import Task

SMALL = 50
"""Patients of the test split below which folds tell more than one split."""

ENOUGH = 10
"""Patients from which on a network can be trained on parts of them at all."""

TELLING = 0.5
"""Width of a 95 % interval above which a score tells nothing."""


def curate_table(
    *,
    table: Path,
    out: Path,
    images: Path | None = None,
    modality: str = "",
    name: str = "",
    licence: str = "",
    redistributable: bool = False,
    column: list[str] | None = None,
    value: list[str] | None = None,
    ask: list[str] | None = None,
    sheet: str = "",
    language: str = "",
    visits: bool = False,
    page: str = "",
    long: str = "",
    plan: bool = False,
    accept: Path | None = None,
    balance: bool = False,
    grounding: bool = False,
    ratios: tuple[float, float, float] = (0.8, 0.15, 0.05),
    longest_side: int | None = 1024,
    seed: NonNegativeInt = 0,
    workers: int = 2,
) -> None:
    """Turn your own table and images into records, without code.

    What every column means is printed, and written to OUT/table.yaml. Where that is in doubt nothing is curated, and
    the command is printed that answers it. Images without a stated licence never leave the machine.

    Args:
        table: CSV, TSV, XLSX, XLS, ODS, Parquet, JSON, JSONL or a folder of `datasets` with a row for each image or
            question; or the table.yaml of a command before.
        out: Curated folder to write; new, empty, or from the same command.
        images: Folder of the images, at any depth; leave it out if the table holds them.
        modality: Modality of the images, an abbreviation such as CFP (fundus photograph) or OCT, or a combination.
        name: Name of the source in records; default: the name of the table.
        licence: Licence of images and labels.
        redistributable: Whether images and labels may be passed on under it.
        column: Meaning of a column, e.g. `--column patient=ID`; `--column ignore=Notes` leaves it out. Repeatable.
        value: Word that a cell stands for, e.g. `--value sex:1=male` or `--value "Diagnosis:gl=glaucoma"`. Repeatable.
        ask: Column that becomes a question, e.g. `--ask diagnosis`. Repeatable.
        sheet: Sheet of a workbook; default: the one with the most filled cells.
        language: Language of the questions that the table itself gives, and of the format of their replies: en or zh;
            default: en. Questions of the benchmark stay in English.
        visits: Also ask how each grade of an eye has changed since the visit before, with the images of both; needs
            columns of the patient, the eye, the date or number of the visit, and a grade.
        page: Which picture of a TIFF, GIF, WebP or PNG with several is read: middle, a number from 1, or all, each as a
            sample of its own in the split of the others; default: such files are listed and left out.
        long: Columns of findings and of their values, `FINDING=VALUE`, of a table with one row a finding; it is turned
            into one row an image.
        plan: Only print what was understood and write OUT/table.yaml.
        accept: File of losses that may be: a checked OUT/losses.csv, or rows of source, key and reason.
        grounding: Also ask each question about changed images and other patients', to see whether a model looks; what
            boxes and masks show is removed.
        balance: Ask equally many questions of each class, as the published benchmarks do; by default all are asked.
        ratios: Shares of train, val and test. A patient's images, and copies of an image, are in one split; a column of
            splits takes precedence.
        longest_side: Maximum length of the longer side of curated images in pixels; `null` keeps all sizes.
        seed: Seed of the splits.
        workers: Number of processes that read and write images.
    """
    from lmod_train.data.cells.devices import read_devices, remove_held
    from lmod_train.data.curation import pipeline
    from lmod_train.data.curation.accepted import read_accepted
    from lmod_train.data.curation.inputs import read_sources
    from lmod_train.data.curation.journal import NAME
    from lmod_train.extensions.table.law import Law
    from lmod_train.extensions.table.places import device_files
    from lmod_train.extensions.table.question_sets import is_conversed
    from lmod_train.extensions.table.source import OwnTable
    from lmod_train.extensions.table.understood import print_understood, write_page

    if is_conversed(locals()):
        return
    with locked(out, "--out"):
        pipeline.check_out(out)
        stated = _plan(table, images, modality, name, licence, redistributable, sheet, language)
        stated = replace(stated, visits=visits or stated.visits, page=page or stated.page, long=long or stated.long)
        grid, folder, columns, whole = _understood(stated, column or (), value or (), ask or ())
        rows = _rows(grid, columns, out)
        print_understood(grid, columns, whole)
        is_curated = (out / "manifest.json").exists() or (out / NAME).exists()
        _write_plan(out, grid, columns, whole, is_curated)
        tasks = _tasks(grid, columns, whole)
        folder = read_devices(out, folder, device_files(grid, columns, folder), whole.page, workers)
        source = OwnTable(whole, grid, columns, folder, tasks, rows)
        show = partial(write_page, out, grid, columns, whole, source)
        law = Law(accepted=read_accepted(accept) if accept else Counter(), source=source, show=show)
        if plan:
            law.raise_for(read_sources([source]).dropped, out / "dropped.csv")
            _print_plan(out, whole, is_curated)
            return
        tasks = [*tasks, *(_grounded(tasks) if grounding else ())]
        manifest = pipeline.curate(
            [source],
            tasks,
            out,
            protocol="table",
            seed=seed,
            ratios=ratios,
            longest_side=longest_side,
            balance=None if balance else (),
            refusal=law,
            workers=workers,
            command=shlex.join(["python", "-m", "lmod_train", *sys.argv[1:]]),
            progress=sys.stderr.isatty(),
        )
    remove_held(out)
    print_written(manifest, out, accept, law.accepted)
    _print_lost(manifest, law, out)
    _print_next(manifest, tasks, columns, out)


def import_(
    file: Path,
    *,
    out: Path,
    images: Path | None = None,
    name: str = "",
    licence: str = "",
    redistributable: bool = False,
    modality: str = "",
    language: str = "en",
    patient: str = "",
    column: list[str] | None = None,
    value: list[str] | None = None,
    accept: Path | None = None,
    ratios: tuple[float, float, float] = (0.8, 0.15, 0.05),
    longest_side: int | None = 1024,
    seed: NonNegativeInt = 0,
    workers: int = 2,
) -> None:
    """Convert a file of questions or conversations to a curated folder for training and evaluation.

    Of conversations, each turn of a person becomes a record of the task `conversation`; of `yes_no_conversation` if
    its whole answer is yes or no, and of `choice_conversation` if it lists options: these two have accuracies. Other
    files are read as by `curate --table`. What cannot be used is left out and listed in dropped.csv.

    Args:
        file: JSON, .jsonl, Parquet or a folder of `datasets` with conversations of LLaVA, ShareGPT, OpenAI or ms-swift,
            or with questions; or a table of questions, e.g. VLMEvalKit's TSV.
        out: Curated folder to write; new, empty, or from the same command.
        images: Folder of the images; those inside the file need none. The paths in conversations are relative to it;
            default for these: the folder of the file.
        name: Name of the source in the records; default: the name of the file.
        licence: Licence of images and text; default: not stated.
        redistributable: Whether the licence permits redistribution; if not, `export` refuses it.
        modality: Modality of the images, an abbreviation in lmod_train/core/vocabulary/modalities.toml such as CFP, or
            a combination such as CFP+OCT. Leave it out for other or mixed modalities.
        language: Language of the text, an ISO 639-1 code.
        patient: Field of an item with the patient, e.g. `patient_id`; a patient's conversations are in one split.
        column: Meaning of a column of a table, e.g. `--column answer=label`. Repeatable.
        value: Word that a cell of a table stands for, e.g. `--value split:0=test`. Repeatable.
        accept: File of losses that may be: a checked OUT/losses.csv, or rows of source, key and reason.
        ratios: Shares of train, val and test. Conversations about the same image are in the same split.
        longest_side: Maximum length of the longer side of curated images in pixels; smaller images keep their size, and
            `null` keeps all sizes.
        seed: Seed of the splits.
        workers: Number of processes that read and write images.
    """
    from lmod_train.extensions.table.question_sets import ORIGIN, SETTINGS, is_conversed

    given = {**locals(), "table": file}
    if is_conversed(given):
        return
    told = [*(column or ()), *([f"patient={patient}"] if patient else ())]
    same = {name: given[name] for name in ("table", "images", "out", "language", "value", *ORIGIN, *SETTINGS)}
    curate_table(**same, column=told)


def _write_plan(out: Path, grid: Grid, columns: Sequence[Column], plan: Plan, is_curated: bool) -> None:
    """Write the plan into a folder without records; that of another is the plan of its records.

    Raises:
        InDoubt: The user must say what columns mean.
    """
    from lmod_train.extensions.table.plan import FILE, write_plan
    from lmod_train.extensions.table.understood import write_page

    doubted = [c for c in columns if c.doubt]
    if not is_curated:
        write_plan(out, plan, columns, grid.notes)
    if doubted and not is_curated:
        write_page(out, grid, columns, plan)
    if doubted:
        raise InDoubt(doubted, None if is_curated else out / FILE)


def _print_lost(manifest: Mapping[str, Any], law: Law, out: Path) -> None:
    """Print what was lost, by value, and files of which no picture was read."""
    from lmod_train.data.curation.manifest_files import read_dropped
    from lmod_train.extensions.table.law import account, told
    from lmod_train.extensions.table.understood import PAGE

    print(f"{out / PAGE} shows what was understood")
    if several := manifest["dropped"].get(law.source.name, {}).get("read", {}).get("several_pictures", 0):
        how = "`--page middle`, `--page all` or `--page 1` reads them, into another `--out`"
        print(f"left out as they hold several pictures: {several} file{'s' * (several > 1)}; {how}")
    for line in told(account(law.source, read_dropped(out / "dropped.csv"), law.accepted)):
        print(line)


def _print_plan(out: Path, plan: Plan, is_curated: bool) -> None:
    from lmod_train.extensions.table.plan import FILE, curating_by

    file = out / FILE

    if is_curated:
        print(f"{file} is that of the records beside it and stays; `--plan --out NEW` writes another")
    else:
        print(f"wrote {file}; `{curating_by(file, plan, file.parent)}` curates by it")


class InDoubt(LmodError):
    """Columns whose meaning the user must say."""

    def __init__(self, columns: Sequence[Column], plan: Path | None) -> None:
        self._options = [word for c in columns for option in c.options for word in option.split(" ", 1)]
        self._plan = plan
        lines = "\n".join(f"  {c.name}: {c.doubt}" for c in columns)
        super().__init__(f"not understood with certainty, so nothing was curated:\n{lines}")

    def typed(self, arguments: Sequence[str]) -> str:
        """Return the message with the complete command that answers the doubts."""
        words = [word for word in arguments if word != "--plan"]
        again = shlex.join(["python", "-m", "lmod_train", *words, *self._options])
        told = f"{self}\nNext: run `{again}` if that is right; `--column ignore=NAME` leaves a column out."
        if self._plan is None:
            return told
        held = f"{self._plan} holds what was understood, and can be edited and used in place of the table"
        page = f"{self._plan.with_name('understood.html')} shows it"
        return f"{told}\n{held}: `--table {self._plan} --follow_links`; {page}"


def _plan(
    table: Path,
    images: Path | None,
    modality: str,
    name: str,
    licence: str,
    redistributable: bool,
    sheet: str,
    language: str,
) -> Plan:
    """Return the plan that is named in place of a table, with what options replace in it, or one for the table."""
    from lmod_train.core.vocabulary.modalities import MODALITIES, unknown_words
    from lmod_train.extensions.table.plan import Plan, is_below, is_plan, read_plan

    if unknown_words(modality) and modality:
        known = ", ".join(m.name for m in MODALITIES[:7])
        raise BadArgument("--modality", modality, f"an abbreviation such as {known}", "`--modality CFP` for fundus")
    if redistributable and not licence and not is_plan(table):
        expected = "the licence that permits it: `--licence TEXT`"
        raise BadArgument("--redistributable", True, expected, "`--licence 'CC BY 4.0' --redistributable`, for example")
    _check_exists(table)
    if is_plan(table):
        found = read_plan(table)
        _refuse_elsewhere(table, replace(found, images=None) if images else found)
        given: dict[str, Any] = {"images": images, "modality": modality, "name": name, "licence": licence}
        given |= {"sheet": sheet, "language": language}
        found = replace(found, **{key: value for key, value in given.items() if value})
        return replace(found, redistributable=redistributable or (found.redistributable and is_below(table, found)))
    if not modality:
        expected = "the modality of the images, which is not guessed: CFP, OCT, SLO, ..."
        raise BadArgument("--modality", "", expected, "`--modality CFP` if they are colour fundus photographs")
    from lmod_train.extensions.table.plan import identifier

    stated = licence or "not stated"
    named = name or identifier(table.stem)
    return Plan(table, images, named, modality, stated, redistributable, sheet, language=language or "en")


def _check_exists(table: Path) -> None:
    """Refuse a table that does not exist.

    Raises:
        BadArgument: It does not; the cure is the table of the closest name beside it.
    """
    from lmod_train.extensions.table.places import TABLES, meant

    if not table.exists():
        raise BadArgument("--table", str(table), "an existing file", meant("--table", table, TABLES, "name the table"))


def _refuse_elsewhere(file: Path, plan: Plan) -> None:
    """Refuse a plan that names files outside its folder: one from someone else must not say which of yours are read.

    Raises:
        LeavesFolder: It does, and the user does not allow it.
    """
    from lmod_train.extensions.table.plan import is_below

    if not follows() and not is_below(file, plan):
        named = " and ".join(map(str, filter(None, (plan.table, plan.images))))
        raise LeavesFolder(file, f"it names files outside its folder: {named}", link=True)


def _understood(
    plan: Plan, column: Sequence[str], value: Sequence[str], ask: Sequence[str]
) -> tuple[Grid, Folder, list[Column], Plan]:
    """Return the table, its images, what its columns mean, and the plan with the options and questions in it."""
    from lmod_train.data.cells.image_names import Folder, folder_of
    from lmod_train.data.cells.long_tables import turned
    from lmod_train.data.cells.options import with_listed
    from lmod_train.data.sources.grid import read_grid
    from lmod_train.data.sources.sheets import UnreadableSheet
    from lmod_train.extensions.table.columns import understand, with_images
    from lmod_train.extensions.table.meanings import check_typed, option_of, typed
    from lmod_train.extensions.table.places import check_images, meant
    from lmod_train.extensions.table.plan import answering, asked_of, identifier, typed_words, with_options

    _check_exists(plan.table)
    try:
        grid = read_grid(plan.table, plan.sheet)
    except UnreadableSheet as error:
        cure = "name a table with a header and rows; if it is one, save it as xlsx, or as CSV in UTF-8"
        raise BadArgument("--table", str(plan.table), f"a table with a header ({error})", cure) from error
    stated = with_options(plan, column, ()).answers
    grid = with_listed(grid, stated.columns)
    _check_grid(plan.table, grid)
    if plan.images is not None and not plan.images.is_dir():
        cure = meant("--images", plan.images, None, "name the folder of the photographs")
        raise BadArgument("--images", str(plan.images), "an existing folder", cure)
    folder = folder_of(plan.images) if plan.images else Folder(plan.table.parent, ())
    if plan.long:
        seen = understand(grid, folder, stated)
        images = [c.name for c in seen if c.meaning == "image"]
        grid = turned(grid, "".join(images[:1]), {c.name for c in seen if c.is_used}, plan.long)
    whole = with_options(plan, column, value, grid.header)
    for name in whole.answers.columns:
        if name not in grid.header:
            meaning = whole.answers.columns[name]
            near = get_close_matches(name, grid.header, n=1)
            cure = f"did you mean `{typed(option_of(meaning, near[0]))}`?" if near else "name one of them"
            raise BadArgument("--column", name, f"a column of the table: {', '.join(grid.header)}", cure)
    asked = (
        *(name for name in grid.header if identifier(name) in ask),
        *ask,
        *(str(q["column"]) for q in whole.questions),
    )
    columns = understand(grid, folder, replace(whole.answers, asked=asked))
    check_images(grid, columns, folder, plan.images is not None)
    check_typed(grid, columns, typed_words(value, grid.header))
    known = {column.name for question in whole.questions for column in answering(question, columns)}
    kept = with_images(grid, columns, folder)
    ask = [name for name in ask if not any(c.doubt and name in (c.name, identifier(c.name), c.about) for c in columns)]
    new = [q for q in asked_of(kept, columns, whole.modality, ask, whole.language) if q["column"] not in known]
    return grid, folder, columns, replace(whole, questions=(*whole.questions, *new))


def _check_grid(table: Path, grid: Grid) -> None:
    """Refuse a table without rows, and one without a header.

    Raises:
        BadArgument: It is one.
    """
    from lmod_train.data.cells.image_names import ENDINGS

    if not grid.rows:
        lost = "".join(f"; {note}" for note in (*grid.notes, *(f"line {n}: {why}" for n, why in grid.lost[:3])))
        found = f"rows below its header ({', '.join(grid.header)[:200]}), and it has no rows{lost}"
        raise BadArgument("--table", str(table), found, "name a table with a row for each image")
    if any(Path(name).suffix.casefold() in ENDINGS for name in grid.header):
        found = f"a line of names of columns; line {grid.header_line} has {', '.join(grid.header)[:120]}"
        raise BadArgument("--table", str(table), found, "add a line of names above it, such as: image,diagnosis")


def _rows(grid: Grid, columns: Sequence[Column], out: Path) -> dict[int, Place | str] | None:
    """Return where the image of each row is, if the table holds the images; base64 is decoded into a file of `out`."""
    from lmod_train.core.types import Cut, ImageFile
    from lmod_train.data.cells.image_names import embedded, listed_in
    from lmod_train.data.sources.objects import HASHED, HELD, images_in, name_of, unpack
    from lmod_train.extensions.table.meanings import Place

    lines = [row.line for row in grid.rows]
    cells = grid.column(grid.images) if grid.images else []
    if grid.images and not any(HASHED in cell for cell in cells):
        cuts = [Cut(column=grid.images, row=line - 1) for line in lines]
        return {n: Place(grid.path, f"row-{n:06d}", cut) for n, cut in zip(lines, cuts, strict=True)}
    found: list[ImageFile | str]
    if grid.images:
        files = unpack(out / HELD, images_in(grid.path))
        found = [files.get(cell) or f"{listed_in(cell) or 'no'} images in the cell, expected one" for cell in cells]
    else:
        index = grid.column("index") if "index" in grid.header else list(map(str, range(len(lines))))
        held = [h for c in columns if c.meaning == "image" and (h := embedded(grid.column(c.name), index)) is not None]
        if not held:
            return None
        files = unpack(out / HELD, (one for one in held[0] if isinstance(one, bytes)))
        found = [one if isinstance(one, str) else files[name_of(one)] for one in held[0]]
    placed = zip(lines, found, strict=True)
    return {n: one if isinstance(one, str) else Place(one.path, one.key, one.cut) for n, one in placed}


def _tasks(grid: Grid, columns: Sequence[Column], plan: Plan) -> list[Task]:
    """Return the tasks that ask about the table.

    Raises:
        BadArgument: There is nothing to ask.
    """
    from lmod_train.extensions.table.plan import tasks_of

    tasks = tasks_of(columns, plan.questions, plan.modality, plan.language)
    tasks += _of_visits(columns, plan) if plan.visits else []
    if not tasks:
        own = [c.name for c in columns if c.meaning in ("own", "diagnosis", "quality", "camera")]
        expected = "at least one question: no column has a diagnosis, grade, sex or age that the benchmark asks about"
        cure = f"`{shlex.quote(f'--ask={own[0]}')}` asks about that column" if own else "add a column with a label"
        raise BadArgument("--ask", "", expected, cure)
    return tasks


def _of_visits(columns: Sequence[Column], plan: Plan) -> list[Task]:
    """Return the tasks that ask how grades have changed between two visits.

    Raises:
        BadArgument: A column is missing that this takes.
    """
    from lmod_train.core.vocabulary.scales import SCALES
    from lmod_train.extensions.table.plan import compared
    from lmod_train.tasks.change import change_task

    means = {"laterality" if c.meaning == "image" and c.eye else c.meaning for c in columns if not c.doubt}
    grades = compared(columns, plan.questions)
    lacking = [name for name in ("patient", "laterality", "date") if name not in means]
    if plan.page == "all":
        expected = "one picture of each file, as visits are compared by one image each"
        raise BadArgument("--page", "all", expected, "`--page middle`, or leave `--visits` out")
    if lacking or not grades:
        missing = lacking[0] if lacking else "icdr"
        expected = f"columns of patient, eye, date and a grade; none is {missing if lacking else 'a grade of a scale'}"
        raise BadArgument("--visits", True, expected, f"name it: `--column {missing}=NAME`, or leave `--visits` out")
    diseases = {s.name: f"grade of {s.disease} ({s.name.replace('_', ' ')})" for s in SCALES}
    return [change_task(label, diseases.get(label, label.rpartition("/")[2].replace("_", " "))) for label in grades]


def _grounded(tasks: Sequence[Task]) -> list[Task]:
    """Return the questions about changed images that extensions ask of tasks, e.g. with the evidence removed."""
    kinds = list(loaded(joined("variants")))
    return [made for kind in kinds for task in tasks if (made := kind.over(task)) is not None]


def _print_next(manifest: Mapping[str, Any], tasks: Sequence[Task], columns: Sequence[Column], out: Path) -> None:
    """Print what the test split can show, and the commands that follow, the first of which needs no model."""
    from lmod_train.core.artifacts.records import read_records

    splits = {record.group: record.split for record in read_records(out / "records")}
    test = sum(split == "test" for split in splits.values())
    has_patients = any(column.meaning == "patient" for column in columns)
    unit = ("patient" if has_patients else "image") + ("s" if len(splits) > 1 else "")
    unit += "" if has_patients else " (no column states the patient, so intervals are over images)"
    print(f"{len(splits)} {unit}, {test} of them in test{precision(test)}")
    asked = [task.name for task in tasks if manifest["counts"].get(task.name)]
    data = ["--data.curated", str(out), "--data.tasks", ",".join(asked), "--data.split", "all"]
    runs = Path("runs", out.resolve().name)
    tried = _typed("validate", "--config", "scripted", *data, "--run", str(runs / "scripted"))
    print(f"next: `{tried}` tries the whole way in seconds, without a model: every reply is the reference answer")
    zero = _typed("validate", "--config", "zero_shot", *data, "--run", str(runs / "zero_shot"))
    print(f"      `{zero}` asks the small model that comes with the package, on any computer; with")
    print("      `--model llava_1_5_7b` and another `--run`, LLaVA-1.5, which needs its weights and a GPU")
    closed = next((task.name for task in tasks if task.name in asked and task.classes), "")
    if closed and len(splits) >= ENOUGH:
        folds = ["--folds", "5"] if test < SMALL else []
        trained = _typed(
            "fit", "--config", "cnn_four_way", "--data.curated", str(out), "--data.tasks", closed, *folds,
            "--run", str(runs / "cnn")
        )  # fmt: skip
        print(f"      `{trained}` trains a small network" + (", tested on every part in turn" if folds else ""))


def _typed(*words: str) -> str:
    return shlex.join(["python", "-m", "lmod_train", *words])


def precision(n: int) -> str:
    """Return how well an accuracy on `n` independent items can be known, by the interval of a report at 0.5.

    Example:
        >>> precision(0), precision(6), precision(100)
        ('', '; too few for an accuracy on test to tell anything', '; an accuracy on test would be known ... ± 0.10')
    """
    from lmod_train.scoring.shares import Evidence, share_interval

    if not n:
        return ""
    low, high = share_interval(0.5, 0.25 / max(n - 1, 1), Evidence(n, n, n))
    if low is None or high is None or high - low > TELLING:
        return "; too few for an accuracy on test to tell anything"
    return f"; an accuracy on test would be known to within ± {(high - low) / 2:.2f}"
