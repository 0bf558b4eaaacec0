"""The options `--pack` and `--verify` of the command `report`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lmod_train.core.errors import BadArgument


def instead(
    runs: Sequence[Path],
    pack: Path | None,
    packs: Sequence[Path],
    out: Path | None,
    curated: Path | None,
    trust: Sequence[str],
) -> None:
    """Write a pack, or verify packs, instead of a report.

    Raises:
        BadArgument: Runs, a run to pack and packs to verify are named together.
    """
    if runs or (pack is not None and packs):
        given = [f"runs {', '.join(map(str, runs))}"] if runs else []
        given += ["--pack"] if pack is not None else []
        given += ["--verify"] if packs else []
        expected = "either runs to report on, or one run to pack, or packs to verify"
        raise BadArgument("report", " and ".join(given), expected, "see `python -m lmod_train report --help`")
    if pack is not None:
        write_pack(pack, out, curated, trust)
    else:
        verify(packs, out, curated, trust)


def write_pack(run: Path, out: Path | None, curated: Path | None, trust: Sequence[str]) -> None:
    """Write the pack of a run; by default to the working folder, named after the run.

    Raises:
        BadArgument: The file exists and is not a pack.
    """
    from lmod_train.core.artifacts.pack import ENDING
    from lmod_train.report.pack import pack

    file = out or Path(f"{run.resolve().name}{ENDING}")
    if file.is_dir() or (file.exists() and file.suffix != ENDING):
        expected = f"a new file, or one that ends with {ENDING}, which is replaced"
        raise BadArgument("--out", str(file), expected, f"e.g. `--out RUN{ENDING}`")
    print("\n".join(pack(run, file, curated, trust)))


def verify(packs: Sequence[Path], out: Path | None, curated: Path | None, trust: Sequence[str]) -> None:
    """Verify packs and write their leaderboard.

    Raises:
        BadArgument: A folder is not named, or no pack holds.
    """
    from lmod_train.report.leaderboard import leaderboard

    whole = "`python -m lmod_train report --verify PACK --curated CURATED --out OUT`"
    if curated is None:
        raise BadArgument("--curated", None, "the curated folder whose records the packs answer", whole)
    if out is None:
        raise BadArgument("--out", None, "a folder for the leaderboard", whole)
    print("\n".join(leaderboard(packs, curated, out, trust)))
