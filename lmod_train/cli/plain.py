"""The commands that load no torch, as plain typed functions. What they need is imported when they run."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from jsonargparse.typing import NonNegativeInt, PositiveInt

from lmod_train.errors import BadArgument, NothingToCurate, SourceNotFound, StrictDrops
from lmod_train.sources.base import Source
from lmod_train.tasks.base import Task
from lmod_train.types import Dropped

_LIST = "`python -m lmod_train list sources` names them"


def phantom(
    *,
    out: Path,
    n: PositiveInt = 64,
    seed: NonNegativeInt = 0,
    sources: str = "eye_diseases,refuge",
    sheet: Path | None = None,
) -> None:
    """Draw phantom eyes from known truth, in the folder shapes of raw datasets.

    Args:
        out: Folder to write below; each source gets its own folder in it.
        n: Eyes a source, at least 1.
        seed: The same seed draws the same eyes; another seed, other eyes.
        sources: Which folder shapes, separated by commas; `all` for every source there is.
        sheet: PNG file to write: three phantoms of each source, named, with the boxes of their known truth.
    """
    from importlib import import_module

    known = _drawable()
    chosen = known if sources == "all" else sources.split(",")
    for name in chosen:
        if name not in known:
            expected = f"names among {', '.join(known)}, or `all` alone"
            raise BadArgument("--sources", name, expected, f"e.g. `--sources {known[0]}`")
    for name in chosen:
        import_module(f"lmod_train.phantom.folders.{name}").write(out, n, seed)
        print(f"{name}: {n} phantoms, seed {seed}, below {out}")
    if sheet is not None:
        from lmod_train.cli.phantoms import draw_sheet

        shown = draw_sheet(out, chosen, n, seed, sheet)
        print(f"wrote {sheet}: {shown} phantoms with the boxes of their known truth")


def _drawable() -> list[str]:
    """Names of the sources that have a file of their name among the phantoms."""
    from lmod_train.cli.listing import PACKAGE, classes_in, descendants

    found = descendants("Source", list(classes_in(PACKAGE / "sources", "lmod_train.sources")))
    names = [str(source.constants["name"]) for source in found]
    return [name for name in names if (PACKAGE / "phantom" / "folders" / f"{name}.py").exists()]


def rescore(run: Path, *, trust: list[str] | None = None) -> None:
    """Parse and score the saved replies of a run again, without a model; seconds instead of hours.

    Writes predictions.parquet and scores.csv anew, as the run itself does. Records that have no reply yet are left
    out and counted. Where replies of several checkpoint steps were saved, each record's newest one counts.

    Args:
        run: Folder of a run, with records.parquet and replies/ in it.
        trust: A module outside this package whose task classes may be imported where the run names them; again for
            another.
    """
    from lmod_train.report.rescore import rescore as again

    for line in again(run, tuple(trust or ())):
        print(line)


def report(
    runs: list[Path], *, out: Path, curated: Path | None = None, cap: PositiveInt = 500, trust: list[str] | None = None
) -> None:
    """Draw tables, figures and a page to look through from the predictions of one or more runs.

    Prints the headline table, task by model: n, score, interval, chance, majority class, unparsed share.

    Args:
        runs: Folders of runs, each with predictions.parquet and scores.csv.
        out: Folder to write the report to.
        curated: Folder with the images; the one that each run's config.yaml names where it is left out.
        cap: Predictions on the page at most, 1 or more.
        trust: A module outside this package whose task classes may be imported where a run names them; again for
            another.
    """
    from lmod_train.artifacts.manifest import read_manifest
    from lmod_train.report.headline import format_table, headline
    from lmod_train.report.report import report as draw

    if curated is not None:
        read_manifest(curated)
    said: list[str] = []
    page = draw(runs, out, curated, cap, trust or (), said.append)
    print("\n".join([format_table(headline(runs)), *said]))
    print(f"wrote {page}")


def curate(
    *,
    out: Path,
    tasks: list[Task],
    raw: Path | None = None,
    sources: list[Source] | None = None,
    roots: dict[str, Path] | None = None,
    box_quantity: Literal["side", "area", "percentile"] = "side",
    box_threshold: float = 0.02,
    strict: bool = False,
    accept: Path | None = None,
    **settings: Any,
) -> None:
    """Turn raw datasets into benchmark records; started again after a kill, it continues.

    Args:
        out: The curated folder: images, records and manifest; new, empty, or begun by an earlier start.
        tasks: What to ask of every sample.
        raw: Folder in and below which every source is found by its own files, whatever the folders are called.
        sources: Which sources to use and with what options, e.g. `[source/idrid.yaml]`; each is looked for below
            `--raw`, and one that is not there is told and left out. Left out: every known source.
        roots: Source name -> folder, one by one, e.g. `--roots.refuge PATH`; wins over what is found below `--raw`.
        box_quantity: What makes a box too small to be asked about: its longer side over the image's, its area over the
            image's, or the percentile of that area within the source.
        box_threshold: Boxes below it are left out and counted; 0 keeps all.
        strict: Where anything was left out or is missing, end with an error once everything is read and drawn and
            dropped.csv lists it, and write no records; the same command without it goes on from there.
        accept: A copy of dropped.csv that you have looked through (or lines of source, key, reason): what it lists,
            `--strict` lets pass, and nothing else.
        **settings: Of the pipeline.
    """
    from lmod_train.curation import pipeline
    from lmod_train.curation.accepted import outdated, read_accepted
    from lmod_train.curation.balance import absent
    from lmod_train.curation.filters import BoxFilter
    from lmod_train.curation.manifest import read_dropped
    from lmod_train.curation.missing import missing
    from lmod_train.lock import locked

    if accept is not None and not strict:
        raise BadArgument("--accept", str(accept), "`--strict` beside it, which it makes milder", "add `--strict`")
    accepted = read_accepted(accept) if accept else None
    found, unfound = _sources(raw, sources, roots or {})
    with locked(out, "--out"):
        try:
            manifest = pipeline.curate(
                found,
                tasks,
                out,
                box_filter=BoxFilter(box_quantity, box_threshold),
                strict=strict,
                accepted=accepted,
                missing=unfound,
                command=shlex.join(["python", "-m", "lmod_train", *sys.argv[1:]]),
                progress=sys.stderr.isatty(),
                **settings,
            )
        except StrictDrops:
            _tell_drops(out)
            raise
    for task, counts in manifest["counts"].items():
        parts = ", ".join(f"{split} {c['records']}" for split, c in counts.items()) or "none"
        print(f"{task}: {sum(c['records'] for c in counts.values())} records ({parts})")
    for line in absent([account for accounts in manifest["balance"].values() for account in accounts]):
        print(f"missing: {line}")
    ratios = manifest["settings"]["ratios"]
    for line in missing(
        manifest["counts"], tuple(s for s, r in zip(("train", "val", "test"), ratios, strict=True) if r)
    ):
        print(f"missing: {line}")
    _tell_families(manifest, out)
    _tell_drops(out)
    for name in outdated(read_dropped(out / "dropped.csv"), accepted) if accepted else ():
        print(f"accepted, and dropped no more: {', '.join(name)}")
    _tell_copies(manifest, out)
    print(f"wrote {out / 'manifest.json'}")


def _tell_families(manifest: Mapping[str, Any], out: Path) -> None:
    """Say how many images are copies of one photograph, and which of them contradict each other; nothing of none."""
    told, contradictory = manifest["families"], manifest["families"]["contradictory"]
    if told["families"]:
        images = f"{told['in_families']} of {told['photographs']} images show {told['families']} photographs"
        kept = "kept in one split each" if manifest["settings"]["split_by"] == "group" else "not kept together"
        print(f"copies, mirrored and turned ones too: {images}, {kept}; listed in {out / 'leakage.csv'}")
    if contradictory:
        said = "are copies of one photograph with contradicting labels: none is used"
        print(f"contradiction: {contradictory} images {said}; listed in {out / 'dropped.csv'}")


def _tell_drops(out: Path) -> None:
    """Say what is missing and how much was left out."""
    from lmod_train.curation.drop_lines import drop_lines
    from lmod_train.curation.manifest import read_dropped

    for line in drop_lines(read_dropped(out / "dropped.csv"), out / "dropped.csv"):
        print(line)


def _tell_copies(manifest: Mapping[str, Any], out: Path) -> None:
    """Say how many images have a copy on the other side of a split; nothing where none has."""
    kinds = manifest["leakage"]["counts"]
    crossing = {kind: kinds[kind]["images_crossing"] for kind in ("exact", "near") if kinds[kind]["images_crossing"]}
    if crossing:
        found = ", ".join(
            f"{n} with {'an exact' if kind == 'exact' else 'a near'} copy" for kind, n in crossing.items()
        )
        print(f"in two splits: {found}; listed in {out / 'leakage.csv'}")


def _sources(
    raw: Path | None, wanted: list[Source] | None, roots: dict[str, Path]
) -> tuple[list[Source], list[Dropped]]:
    """Return the sources found and named, sorted by name, and what should be there and is not; say both.

    A source whose root was named by hand must be whole; one found below `raw` by its files, and lacking what it cannot
    do without, is left out. Folders that are no source count as left out where every known source was looked for.
    """
    from lmod_train.sources.base import UNPLACED
    from lmod_train.sources.discovery import discover, source_classes

    known = {s.name: s for s in wanted} if wanted else {name: cls() for name, cls in source_classes().items()}
    for name in roots:
        if name not in known:
            raise BadArgument(f"--roots.{name}", str(roots[name]), f"one of {', '.join(known)} as its name", _LIST)
    placed = {name: source for name, source in known.items() if source.root != UNPLACED}
    placed |= {name: known[name].at(root) for name, root in roots.items()}
    missing: list[Dropped] = []
    named = set(placed)
    if raw is None and not placed:
        raise BadArgument("--raw", None, "a folder to look for sources in, or `--roots.SOURCE PATH`", _LIST)
    if raw is not None:
        found = discover(raw, wanted=list(known.values()))
        for source in found.sources:
            placed.setdefault(source.name, source)
        for skipped in found.skipped:
            print(f"skipped {skipped.folder}: {skipped.why}")
            if not wanted:
                place = skipped.folder.relative_to(raw).as_posix()
                missing.append(Dropped("raw", place, place, "read", "folder not used", skipped.why))
    if not placed and raw is not None:
        raise NothingToCurate(raw, list(known))
    whole = []
    for name, source in sorted(placed.items()):
        try:
            source.verify()
        except SourceNotFound as error:
            if name in named or len(placed) == 1:
                raise
            missing.append(Dropped(name, "all", ".", "read", "missing folder", str(error).splitlines()[0]))
            continue
        whole.append(source)
        print(f"found {name} in {source.root}")
    for name in sorted(set(known) - set(placed)) if wanted else ():
        missing.append(Dropped(name, "all", ".", "read", "missing folder", "nothing of it was recognised"))
        print(f"not found: {name}; get it at {known[name].reference}, or name its folder with --roots.{name} PATH")
    return whole, missing


def show(kind: Literal["sources", "tasks", "models", "configs", "options"], name: str = "") -> None:
    """List sources, tasks, models, configurations, or the options of one class, from source text and configs.

    Nothing is imported, so that nothing waits for torch. Sources and tasks are those of this package and of the modules
    and packages in the working folder.

    Args:
        kind: What to list.
        name: With `options`, the class: a class path, the name of a source, task or model config, or a group of options
            of `fit`: data, trainer, tripwires, checkpoint, evaluation, read_back.
    """
    from lmod_train.cli import class_options, listing

    if (kind == "options") != bool(name):
        expected = "a name with `options`, and none with the others"
        raise BadArgument("list", f"{kind} {name}".strip(), expected, "e.g. `python -m lmod_train list options idrid`")
    kinds = {
        "sources": listing.sources, "tasks": listing.tasks, "models": listing.models, "configs": listing.configs
    }  # fmt: skip
    said = class_options.options_text(name) if name else kinds[kind]()
    print(said or f"no {kind} yet", flush=True)


def export(
    curated: Path,
    *,
    to: Literal["llava", "sharegpt", "vlmevalkit", "lmms_eval", "hugging_face"],
    out: Path,
    tasks: str = "",
    split: Literal["train", "val", "test", "all"] = "all",
    sources: str = "",
    images: Literal["copy", "link", "none"] = "copy",
    for_own_use: bool = False,
    trust: list[str] | None = None,
) -> None:
    """Write a curated folder as another tool reads it, word for word, with the licence of every source.

    What a licence does not let anyone pass on is not exported, unless `--for_own_use` says that it stays here.

    Args:
        curated: Folder that `curate` or `import` wrote.
        to: LLaVA's training file; `sharegpt` for LLaMA-Factory and ms-swift; tables for VLMEvalKit; a task folder for
            lmms-eval; Parquet with a card for the `datasets` library.
        out: New or empty folder.
        tasks: Names of tasks, separated by commas; left out: all.
        split: Export one split only; of several, each has its own file (VLMEvalKit: a column).
        sources: Names of sources, separated by commas; left out: all.
        images: Copies, links to the curated folder, or none (then paths are relative to the curated folder). Where
            images lie inside the files, `copy` puts them there.
        for_own_use: Export what must not be passed on too, for this machine alone, with a NOTICE in the folder.
        trust: A module outside this package whose task classes may be imported where records name them; again for
            another.
    """
    from lmod_train.formats import export as formats

    done = formats.export(
        curated,
        to,
        out,
        tasks=[name for name in tasks.split(",") if name],
        split=split,
        sources=[name for name in sources.split(",") if name],
        images=images,
        for_own_use=for_own_use,
        trust=trust or (),
        progress=sys.stderr.isatty(),
    )
    if done.left_out:
        reasons = ", ".join(f"{reason} {n}" for reason, n in done.left_out.items())
        print(f"left out: {reasons}; listed in {out / 'dropped.csv'}")
    print(f"wrote {out}: {done.written} of {done.records} records; README.md in it says how {to} reads them")
    if (out / "NOTICE").exists():
        print(f"this folder must not be passed on: {out / 'NOTICE'}")


def import_(
    file: Path,
    *,
    images: Path,
    out: Path,
    name: str = "",
    licence: str = "not stated",
    redistributable: bool = False,
    modality: str = "",
    language: str = "en",
    ratios: tuple[float, float, float] = (0.8, 0.15, 0.05),
    longest_side: int | None = 1024,
    seed: NonNegativeInt = 0,
) -> None:
    """Make a curated folder of conversations in LLaVA's format, to train and evaluate on like any other.

    One record of the task `conversation` a human turn. What cannot be used is left out and listed in dropped.csv.

    Args:
        file: LLaVA's training file: a JSON list of id, image and conversations, or .jsonl with one item a line.
        images: Folder that its image paths are relative to.
        out: The curated folder; new, empty, or begun by the same command.
        name: What its records call their source; the file's own name where left out.
        licence: Under which licence images and words came.
        redistributable: Whether that licence lets them be passed on; `export` refuses otherwise.
        modality: What its images are, a word of lmod_train/vocabulary/modalities.py such as CFP, or a combination such
            as CFP+OCT; left out where they are something else, or mixed.
        language: ISO 639-1 code of its words.
        ratios: Shares of train, val and test; conversations about one image stay together.
        longest_side: Pixels of the curated images' longer side; never enlarged; null keeps originals.
        seed: Of the splits.
    """
    import re

    from lmod_train.formats.imported import Origin, import_conversations
    from lmod_train.lock import locked

    with locked(out, "--out"):
        manifest = import_conversations(
            file,
            images,
            out,
            Origin(name or re.sub(r"\W|^(?=\d)", "_", file.stem), licence, redistributable, modality, language),
            ratios=ratios,
            longest_side=longest_side,
            seed=seed,
            command=shlex.join(["python", "-m", "lmod_train", *sys.argv[1:]]),
            progress=sys.stderr.isatty(),
        )
    _tell_copies(manifest, out)
    for task, counts in manifest["counts"].items():
        parts = ", ".join(f"{part} {c['records']}" for part, c in counts.items())
        print(f"{task}: {sum(c['records'] for c in counts.values())} records ({parts})")
    _tell_drops(out)
    print(f"wrote {out / 'manifest.json'}")
