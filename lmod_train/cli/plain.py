"""The commands that need no torch, as typed functions; their imports wait until they run."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from jsonargparse.typing import NonNegativeInt, PositiveInt

from lmod_train.core.errors import BadArgument, NothingToCurate, SourceNotFound, StrictDrops
from lmod_train.core.types import Dropped
from lmod_train.data.sources.base import Source
from lmod_train.report.section import Section
from lmod_train.tasks.base import Task

_LIST = "`python -m lmod_train list sources` lists them"


def phantom(
    *,
    out: Path,
    n: PositiveInt = 64,
    seed: NonNegativeInt = 0,
    sources: str = "eye_diseases,refuge",
    sheet: Path | None = None,
) -> None:
    """Draw phantoms (synthetic eye images with known labels) in the folder layouts of raw datasets.

    Args:
        out: Folder to write to; each source gets its own folder in it.
        n: Number of eyes per source.
        seed: Random seed; the same seed draws the same eyes.
        sources: Names of the sources to imitate, separated by commas; `all` for every source.
        sheet: PNG file of an overview to write: three phantoms of each source with names and true boxes.
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
        print(f"{name}: drew {n} phantoms with seed {seed} in {out}")
    if sheet is not None:
        from lmod_train.cli.phantoms import draw_sheet

        shown = draw_sheet(out, chosen, n, seed, sheet)
        print(f"wrote {sheet}: {shown} phantoms with their true boxes")


def _drawable() -> list[str]:
    """Return the names of the sources whose layout phantoms can be drawn in."""
    from lmod_train.cli.catalogue import descendants, shipped_classes
    from lmod_train.core.shipped import PACKAGE

    found = descendants("Source", shipped_classes("Source"))
    names = [str(source.constants["name"]) for source in found]
    folders = PACKAGE / "phantom" / "folders"
    return [name for name in names if (folders / f"{name}.py").exists() or (folders / name / "__init__.py").exists()]


def rescore(run: Path, *, trust: list[str] | None = None) -> None:
    """Parse and score the saved replies of a run again, in seconds and without a model.

    Rewrites predictions.parquet and scores.csv, e.g. after a parser was improved, with the verdicts of judges (`judge`)
    on these replies. Records without a reply are left out and counted. If replies of several checkpoint steps were
    saved, the latest reply of each record counts.

    Args:
        run: Folder of a run, containing records.parquet and replies/, or of several seeds of a run.
        trust: Module outside this package with task classes that the run names, which may be imported; can be repeated.
    """
    from lmod_train.core.artifacts.run import Run
    from lmod_train.core.artifacts.series import members
    from lmod_train.report.rescore import rescore as again

    several = [] if Run(run).has_begun() else [own for own in members(run) if Run(own).replies.is_dir()]
    for one in several or [run]:
        for line in again(one, tuple(trust or ())):
            print(line)


NO_RUNS: list[Path] = []


def report(
    runs: list[Path] = NO_RUNS,
    *,
    sections: list[Section],
    out: Path | None = None,
    pack: Path | None = None,
    verify: list[Path] | None = None,
    curated: Path | None = None,
    against: str = "",
    one_file: bool = False,
    trust: list[str] | None = None,
    published: bool = False,
) -> None:
    """Write tables, figures and a web page of predictions from one or more runs.

    Prints the headline table, a row per task and model: number of records, score, 95 % interval, score of chance and
    of the majority class, share of unparsed replies, and warnings where a score would mislead. What is missing from a
    run, and what is shown without it, is stated below.

    Args:
        runs: Folders of runs, each containing predictions.parquet and scores.csv, or of several seeds of a run. Not
            needed with `--published`.
        out: Folder to write the report to; with `--pack` the file, by default RUN.lmodpack in the working folder.
        pack: Folder of a run to write as one file for publication instead of a report, without images and truths.
        verify: Packs whose scores are computed again from their replies and `--curated`; writes their leaderboard.
        sections: What the report shows, in this order: class paths with their options, usually of a config such as
            `--config lmod_plus`.
        curated: Curated folder with the images; default: the one in each run's config.yaml.
        against: Run with which the others are compared: its label in the tables or the name of its folder, `best` for
            the best one of each task, or `all` for all pairs; default: all pairs of up to 6 runs, `best` for more.
        one_file: Write the page as one file with small images, for a few predictions, and not as a folder.
        trust: Module outside this package with task classes that a run names, which may be imported; can be repeated.
        published: Show the tables of the papers, with rows for the runs if any are named, instead of `sections`.
    """
    from lmod_train.cli import packs
    from lmod_train.core.artifacts.manifest import read_manifest
    from lmod_train.report.report import report as draw
    from lmod_train.report.section import shipped_sections
    from lmod_train.report.sections.comparisons import compare_against

    if curated is not None:
        read_manifest(curated)
    if pack is not None or verify:
        return packs.instead(runs, pack, verify or [], out, curated, trust or ())
    if not runs and not published:
        raise BadArgument(
            "runs", [], "one or more run folders", "name them, or add `--published` for the papers' tables"
        )
    if out is None:
        raise BadArgument("--out", None, "a folder to write the report to", "add `--out REPORT`")
    lines: list[str] = []
    shown = shipped_sections("published") if published else sections
    if against:
        shown = compare_against(shown, against)
    page = draw(runs, out, curated, one_file, trust or (), shown, lines.append)
    print("\n".join([*lines, f"wrote {page}"]))


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
    """Turn raw datasets into benchmark records. The same command again continues an interrupted curation.

    Args:
        out: Curated folder to write images, records and manifest to; new, empty, or from the same command.
        tasks: Tasks whose questions are asked of every sample.
        raw: Folder in which sources are searched, at any depth; they are recognised by their files, not by the names
            of folders.
        sources: Sources to use, with their options, e.g. `[source/idrid.yaml]`. A source that is not found below
            `--raw` is reported and left out. Default: every known source.
        roots: Folder of a single source, e.g. `--roots.refuge PATH`; takes precedence over `--raw`.
        box_quantity: Measure of the size of a box: its longer side relative to the image's, its area relative to the
            image's, or the percentile of this area within the source.
        box_threshold: Boxes smaller than this are left out and counted; 0 keeps all.
        strict: Fail and write no records if anything was left out or is missing. All images are read first, so that
            dropped.csv is complete; the same command without this option then continues.
        accept: File of drops that `--strict` permits: a checked copy of dropped.csv, or rows of source, key and reason.
        **settings: Settings of the pipeline.
    """
    from lmod_train.core.lock import locked
    from lmod_train.data.curation import pipeline
    from lmod_train.data.curation.accepted import outdated, read_accepted
    from lmod_train.data.curation.balance import absent
    from lmod_train.data.curation.filters import BoxFilter
    from lmod_train.data.curation.manifest import read_dropped
    from lmod_train.data.curation.missing import missing

    if accept is not None and not strict:
        raise BadArgument("--accept", str(accept), "`--strict`, whose exceptions it lists", "add `--strict`")
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
            _print_drops(out)
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
    _print_families(manifest, out)
    for name, notes in manifest["sources"].items():
        if notes.get("grey_bits", 16) < 16:
            print(f"16-bit greys of {name} use {notes['grey_bits']} bits, which are taken for their full range")
    _print_drops(out)
    for name in outdated(read_dropped(out / "dropped.csv"), accepted) if accepted else ():
        print(f"accepted in {accept}, but no longer dropped: {', '.join(name)}")
    _print_copies(manifest, out)
    print(f"wrote {out / 'manifest.json'}")


def _print_families(manifest: Mapping[str, Any], out: Path) -> None:
    """Print the number of images that are copies of the same photograph, and of copies with contradicting labels."""
    families = manifest["families"]
    if families["families"]:
        images = f"{families['in_families']} of {families['photographs']} images"
        images += f" show {families['families']} photographs"
        kept = "kept in one split each" if manifest["settings"]["split_by"] == "group" else "not kept in one split"
        print(f"copies, including mirrored and rotated ones: {images}, {kept}; listed in {out / 'leakage.csv'}")
    if families["contradictory"]:
        problem = "are left out, as they are copies of one photograph with contradicting labels"
        print(f"contradiction: {families['contradictory']} images {problem}; listed in {out / 'dropped.csv'}")


def _print_drops(out: Path) -> None:
    """Print what is missing and how much was left out."""
    from lmod_train.data.curation.drop_lines import drop_lines
    from lmod_train.data.curation.manifest import read_dropped

    for line in drop_lines(read_dropped(out / "dropped.csv"), out / "dropped.csv"):
        print(line)


def _print_copies(manifest: Mapping[str, Any], out: Path) -> None:
    """Print the number of images with a copy in another split, if there are any."""
    kinds = manifest["leakage"]["counts"]
    crossing = {kind: kinds[kind]["images_crossing"] for kind in ("exact", "near") if kinds[kind]["images_crossing"]}
    if crossing:
        found = ", ".join(
            f"{n} with {'an exact' if kind == 'exact' else 'a near'} copy" for kind, n in crossing.items()
        )
        print(f"images in two splits: {found}; listed in {out / 'leakage.csv'}")


def _sources(
    raw: Path | None, wanted: list[Source] | None, roots: dict[str, Path]
) -> tuple[list[Source], list[Dropped]]:
    """Return the sources that were found or given, sorted by name, and those missing; prints both.

    A source given by its root must be complete. An incomplete source found below `raw` is left out. Folders that are
    not recognised count as left out if every known source was searched.
    """
    from lmod_train.data.sources.base import UNPLACED
    from lmod_train.data.sources.discovery import discover, source_classes

    known = {s.name: s for s in wanted} if wanted else {name: cls() for name, cls in source_classes().items()}
    for name in roots:
        if name not in known:
            raise BadArgument(f"--roots.{name}", str(roots[name]), f"the name of a source ({', '.join(known)})", _LIST)
    placed = {name: source for name, source in known.items() if source.root != UNPLACED}
    placed |= {name: known[name].at(root) for name, root in roots.items()}
    missing: list[Dropped] = []
    named = set(placed)
    if raw is None and not placed:
        raise BadArgument("--raw", None, "a folder to search for sources, or `--roots.SOURCE PATH`", _LIST)
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
        missing.append(Dropped(name, "all", ".", "read", "missing folder", "not found below the raw folder"))
        print(f"not found: {name}; see {known[name].reference}, or give its folder with --roots.{name} PATH")
    return whole, missing


def show(
    kind: Literal["sources", "tasks", "models", "configs", "options"],
    name: str = "",
    *,
    table: bool = False,
    csv: bool = False,
) -> None:
    """List sources, tasks, models, configs, or the options of one of them.

    Includes your own sources and tasks, defined in modules and packages of the working folder. They are read without
    being imported.

    Args:
        kind: What to list.
        name: With `options`: the name of a source, task or model config, a class path, or a group of options of `fit`
            (data, trainer, tripwires, checkpoint, evaluation, read_back).
        table: With `models`: print the models of the papers and newer ones as a Markdown table, with notes: hub id,
            licence, billions of parameters, GB of GPU memory, route, state of the published numbers, what was tried.
        csv: The same as CSV, one line for each model and paper.
    """
    from lmod_train.cli import listing, model_table

    if (kind == "options") != bool(name):
        expected = "a name after `options`, and none after the others"
        raise BadArgument("list", f"{kind} {name}".strip(), expected, "e.g. `python -m lmod_train list options idrid`")
    if (table or csv) and kind != "models":
        raise BadArgument("--table, --csv", kind, "`models`", "`python -m lmod_train list models --table`")
    kinds = {
        "sources": listing.sources, "tasks": listing.tasks, "models": listing.models, "configs": listing.configs
    }  # fmt: skip
    if table or csv:
        kinds["models"] = model_table.comma_separated if csv else model_table.markdown
    text = listing.options_text(name) if name else kinds[kind]()
    print(text or f"no {kind} yet", flush=True)


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
    """Convert a curated folder to the format of another tool, with unchanged wording and the licence of every source.

    Sources whose licence does not permit redistribution are left out, unless `--for_own_use` is set.

    Args:
        curated: Folder written by `curate` or `import`.
        to: Format: LLaVA's training file; `sharegpt` for LLaMA-Factory and ms-swift; tables for VLMEvalKit; a task
            folder for lmms-eval; Parquet with a dataset card for the `datasets` library.
        out: Folder to write; new or empty.
        tasks: Names of tasks to export, separated by commas; default: all.
        split: Split to export. With `all`, each split has its own file (VLMEvalKit: a column).
        sources: Names of sources to export, separated by commas; default: all.
        images: `copy` the images, `link` to those of the curated folder, or `none` for paths relative to the curated
            folder. Formats that contain images (vlmevalkit, lmms_eval, hugging_face) have no `link`.
        for_own_use: Also export sources that must not be redistributed, with a NOTICE in the folder.
        trust: Module outside this package with task classes that records name, which may be imported; can be repeated.
    """
    from lmod_train.data.formats import export as formats

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
    print(f"wrote {out}: {done.written} of {done.records} records; its README.md describes how {to} reads them")
    if (out / "NOTICE").exists():
        print(f"do not redistribute this folder: see {out / 'NOTICE'}")


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
    """Convert conversations in LLaVA's format to a curated folder for training and evaluation.

    Each human turn becomes a record of the task `conversation`. Items that cannot be used are left out and listed in
    dropped.csv.

    Args:
        file: LLaVA's training file: a JSON list of items with id, image and conversations, or .jsonl with an item per
            line.
        images: Folder that the image paths in the file are relative to.
        out: Curated folder to write; new, empty, or from the same command.
        name: Name of the source in the records; default: the name of the file.
        licence: Licence of images and text.
        redistributable: Whether the licence permits redistribution; if not, `export` refuses it.
        modality: Modality of the images, an abbreviation in lmod_train/core/vocabulary/modalities.py such as CFP, or a
            combination such as CFP+OCT. Leave it out for other or mixed modalities.
        language: Language of the text, an ISO 639-1 code.
        ratios: Shares of train, val and test. Conversations about the same image are in the same split.
        longest_side: Maximum length of the longer side of curated images in pixels; smaller images keep their size, and
            `null` keeps all sizes.
        seed: Seed of the splits.
    """
    import re

    from lmod_train.core.lock import locked
    from lmod_train.data.formats.conversations import Origin, import_conversations

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
    _print_copies(manifest, out)
    for task, counts in manifest["counts"].items():
        parts = ", ".join(f"{part} {c['records']}" for part, c in counts.items())
        print(f"{task}: {sum(c['records'] for c in counts.values())} records ({parts})")
    _print_drops(out)
    print(f"wrote {out / 'manifest.json'}")
