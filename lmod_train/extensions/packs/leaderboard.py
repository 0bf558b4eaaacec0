"""The leaderboard of packs: a table of those whose scores hold, and the reasons why others are refused."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from lmod_train.core.errors import BadArgument
from lmod_train.core.lock import is_empty, locked
from lmod_train.core.tables import INTERVAL, SCORE, Cell, Column, N, Table, markdown, table
from lmod_train.core.types import Score
from lmod_train.extensions.packs.verifying import Refused, Verified, is_other_way, read_folder, verified
from lmod_train.report.contents import Chapter, Contents, Text, texts
from lmod_train.report.writers.csv import write_csv
from lmod_train.report.writers.latex import write_latex
from lmod_train.report.writers.markdown import write_markdown
from lmod_train.scoring.completeness import account_in
from lmod_train.scoring.headline_metrics import headline_metric
from lmod_train.scoring.warnings import MOST_UNPARSED
from lmod_train.tasks.headline import LOST

_TEXTS = texts(__file__)


WRITTEN = "leaderboard.md"

BESIDE = ("chance", "majority", "share_unparsed")

LONGEST = 80
"""Maximum characters of a name that a pack states."""

NONE = "No pack holds."


def leaderboard(packs: Sequence[Path], curated: Path, out: Path, trust: Sequence[str] = ()) -> list[str]:
    """Verify packs and write ``leaderboard.md`` and each table as CSV and LaTeX; return the lines to print.

    Args:
        packs: Files.
        curated: Curated folder that they were asked from.
        out: Folder to write to; new, empty, or of an earlier leaderboard.
        trust: Modules outside this package with task classes that packs name, which may be imported.

    Raises:
        BadArgument: `out` contains other files, a pack is named twice, or no pack holds.
        ArtifactError: The folder is not curated.
    """
    if out.is_dir() and not is_empty(out) and not (out / WRITTEN).exists():
        expected = "a new or empty folder, or one of an earlier leaderboard"
        raise BadArgument("--out", str(out), expected, "e.g. `--out LEADERBOARD`")
    if len({os.path.realpath(file) for file in packs}) < len(packs):  # `resolve` fails for an endless link
        raise BadArgument("--verify", [str(file) for file in packs], "different packs", "name each once")
    folder = read_folder(curated)
    found = [verified(file, folder, trust) for file in packs]
    held, refused = [f for f in found if isinstance(f, Verified)], [f for f in found if isinstance(f, Refused)]
    places, reasons = places_of(held), _reasons(refused)
    with locked(out, "--out"):
        for one in (places, reasons):
            write_csv(one, out)
            write_latex(one, out)
        write_markdown(_contents(places, reasons), out / WRITTEN)
    lines = [f"refused: {r.file}: {reason}" for r in refused for reason in r.reasons]
    if not held:
        cure = "ask its author for another"
        raise BadArgument("--verify", len(packs), f"a pack that holds; {'; '.join(lines)}", cure)
    return [markdown(places), *lines, f"verified: {len(held)} of {len(packs)} packs", f"wrote {out / WRITTEN}"]


def _contents(places: Table, reasons: Table) -> Contents:
    parts = (Text(_TEXTS["note"]), places) if places.rows else (Text(NONE),)
    chapters = [Chapter("leaderboard", "Packs whose scores hold", parts)]
    if reasons.rows:
        chapters.append(Chapter("refused", "Refused packs", (reasons,)))
    return Contents("Leaderboard", (), tuple(chapters))


def places_of(held: Sequence[Verified]) -> Table:
    """Return the leaderboard: a row per task and pack, tasks by name, best first.

    Packs that asked questions otherwise than curated are below those that did not: they are not compared.
    """
    baselines = [Column("chance", "number"), Column("majority", "number"), Column("unparsed", "percent")]
    names: list[str | Column] = ["task", "model", "run", "pack", "metric"]
    columns = [*names, N, Column("records", "count"), Column("failed", "count"), SCORE, INTERVAL, *baselines, "remarks"]
    places = sorted(((v, task.name) for v in held for task in v.pack.tasks), key=lambda place: _order(*place))
    return table("leaderboard", columns, [_row(*place) for place in places])


def _order(held: Verified, task: str) -> tuple[str, bool, float, str]:
    value = _headline(held, task).value
    otherwise = any(is_other_way(p) for p in held.pack.predictions if p.task == task)
    return task, otherwise, 1.0 if value is None else -value, held.file[-LONGEST:]


def _headline(held: Verified, task: str) -> Score:
    metric = headline_metric(held.scores, task)
    return next(s for s in held.scores if (s.task, s.subset, s.metric) == (task, "all", metric))


def _row(held: Verified, task: str) -> list[Cell]:
    by_metric, score = {s.metric: s for s in held.scores if (s.task, s.subset) == (task, "all")}, _headline(held, task)
    account = account_in(held.scores, task)
    names: list[Cell] = [task, held.pack.model[:LONGEST], held.pack.run[:LONGEST], held.file[-LONGEST:], score.metric]
    counts: list[Cell] = [score.n, held.whole[task], account.failed if account else None]
    beside: list[Cell] = [by_metric[m].value if m in by_metric else None for m in BESIDE]
    shares = {status: by_metric[f"share_{status}"].value or 0.0 for status in LOST if f"share_{status}" in by_metric}
    many = [f"{100 * share:.1f} % {status}" for status, share in shares.items() if share > MOST_UNPARSED]
    return [*names, *counts, score.value, (score.low, score.high), *beside, "; ".join([*held.remarks[task], *many])]


def _reasons(refused: Sequence[Refused]) -> Table:
    return table("refused", ["pack", "reason"], [[r.file[-LONGEST:], reason] for r in refused for reason in r.reasons])
