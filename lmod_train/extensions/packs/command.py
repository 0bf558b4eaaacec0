"""The options ``report --pack`` and ``report --verify``: a run as one file, and its scores computed again."""

from __future__ import annotations

from pathlib import Path

from lmod_train.core.errors import BadArgument

NO_RUNS: list[Path] = []


def pack(
    runs: list[Path] = NO_RUNS,
    *,
    pack: Path,
    out: Path | None = None,
    curated: Path | None = None,
    verify: list[Path] | None = None,
    trust: list[str] | None = None,
) -> None:
    """Write a run as one file for publication, without images and truths; by default named after the run.

    Args:
        runs: None: the run is named by `--pack`.
        pack: Folder of the run.
        out: File to write; by default RUN.lmodpack in the working folder.
        curated: Curated folder with the images; default: the one in the run's config.yaml.
        verify: None: packs are verified by a command of their own.
        trust: Module outside this package with task classes that the run names, which may be imported; can be repeated.

    Raises:
        BadArgument: Runs or packs to verify are named too, or the file exists and is not a pack.
    """
    from lmod_train.extensions.packs.pack import ENDING
    from lmod_train.extensions.packs.packing import pack as write

    _check(runs, pack, verify, curated)
    file = out or Path(f"{pack.resolve().name}{ENDING}")
    if file.is_dir() or (file.exists() and file.suffix != ENDING):
        expected = f"a new file, or one that ends with {ENDING}, which is replaced"
        raise BadArgument("--out", str(file), expected, f"e.g. `--out RUN{ENDING}`")
    print("\n".join(write(pack, file, curated, trust or ())))


def verify(
    runs: list[Path] = NO_RUNS,
    *,
    verify: list[Path] | None,
    curated: Path | None = None,
    out: Path | None = None,
    pack: Path | None = None,
    trust: list[str] | None = None,
) -> None:
    """Compute the scores of packs again from their replies and your records, and write their leaderboard.

    Args:
        runs: None: packs are named by `--verify`.
        verify: Packs.
        curated: Curated folder whose records the packs answer.
        out: Folder for the leaderboard.
        pack: None: a run is packed by a command of its own.
        trust: Module outside this package with task classes that packs name, which may be imported; can be repeated.

    Raises:
        BadArgument: Runs or a run to pack are named too, a folder is not named, or no pack holds.
    """
    from lmod_train.extensions.packs.leaderboard import leaderboard

    _check(runs, pack, verify, curated)
    whole = "`python -m lmod_train report --verify PACK --curated CURATED --out OUT`"
    if curated is None:
        raise BadArgument("--curated", None, "the curated folder whose records the packs answer", whole)
    if out is None:
        raise BadArgument("--out", None, "a folder for the leaderboard", whole)
    print("\n".join(leaderboard(verify or [], curated, out, trust or ())))


def _check(runs: list[Path], pack: Path | None, packs: list[Path] | None, curated: Path | None) -> None:
    """Refuse runs to report on, a run to pack and packs to verify together, and a folder that is not curated."""
    from lmod_train.core.artifacts.manifest import read_manifest

    if curated is not None:
        read_manifest(curated)
    given = [f"runs {', '.join(map(str, runs))}"] if runs else []
    given += ["--pack"] if pack is not None else []
    given += ["--verify"] if packs else []
    if len(given) > 1:
        expected = "either runs to report on, or one run to pack, or packs to verify"
        raise BadArgument("report", " and ".join(given), expected, "see `python -m lmod_train report --help`")
