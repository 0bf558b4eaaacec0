"""Errors that write their own cure: what was given, what was expected, and the next command to type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path


class LmodError(Exception):
    """Base of every error a user can mend. The command line prints it without a traceback and exits with status 2."""

    def __reduce__(self) -> tuple[Callable[..., LmodError], tuple[type[LmodError], tuple[object, ...]]]:
        """Travel between processes as the message: a worker's error comes back as it was, whatever made it."""
        return _again, (type(self), self.args)


def _again(kind: type[LmodError], args: tuple[object, ...]) -> LmodError:
    error = kind.__new__(kind)
    error.args = args
    return error


class SourceNotFound(LmodError):
    """A raw dataset is not where it should be."""

    def __init__(self, source: str, root: Path, missing: str, tree: str) -> None:
        super().__init__(
            f"source {source!r}: {missing} is missing under root={str(root)!r}.\n"
            f"Expected one of these layouts:\n{tree}\n"
            f"Next: put the files there, or name another root, e.g. "
            f"`python -m lmod_train curate --roots.{source} PATH --out CURATED`."
        )


class NothingToCurate(LmodError):
    """No source was recognised below the raw folder."""

    def __init__(self, raw: Path, known: Sequence[str]) -> None:
        super().__init__(
            f"raw={str(raw)!r}: no known source was recognised in it (known: {', '.join(known)}).\n"
            f"Next: `python -m lmod_train list sources` shows the folders each source is recognised by; "
            f"`python -m lmod_train phantom --out {raw} --n 64` draws phantoms to try with."
        )


class ArtifactError(LmodError):
    """A file of ours is missing, damaged or of another schema."""

    def __init__(self, path: Path, problem: str, cure: str) -> None:
        super().__init__(f"{path}: {problem}\nNext: {cure}")


class FolderConflict(LmodError):
    """A folder was begun with other values than it is asked to go on with."""

    def __init__(self, option: str, folder: Path, begun: str, differences: Sequence[str]) -> None:
        listed = "\n".join(f"  {line}" for line in differences)
        super().__init__(
            f"{option}={str(folder)!r} was {begun}; these keys differ (was -> now):\n{listed}\n"
            f"Next: use the same values to continue it, or name a new folder with `--{option} DIR`."
        )


class RunConflict(FolderConflict):
    """A run folder was started with another configuration."""

    def __init__(self, run: Path, differences: Sequence[str]) -> None:
        super().__init__("run", run, "started with another configuration", differences)


class WeightsNotFound(LmodError):
    """Model weights are not where the configuration says."""

    def __init__(self, argument: str, value: str, what: str, cure: str) -> None:
        super().__init__(f"{argument}={value!r}: {what}\nNext: {cure}")


class WeightsMismatch(LmodError):
    """A weights file does not fit the model that should take it."""

    def __init__(self, path: str, missing: Sequence[str], unexpected: Sequence[str], cure: str) -> None:
        def few(names: Sequence[str]) -> str:
            return ", ".join(list(names)[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "") or "none"

        super().__init__(
            f"{path}: weights do not fit the model (missing: {few(missing)}; unexpected: {few(unexpected)}). "
            f"Nothing was loaded: a half-loaded model answers nonsense without an error.\nNext: {cure}"
        )


class BadArgument(LmodError):
    """An argument has a value that cannot be used."""

    def __init__(self, argument: str, value: object, expected: str, cure: str) -> None:
        super().__init__(f"{argument}={value!r}: expected {expected}.\nNext: {cure}")


class CurationConflict(FolderConflict):
    """A curated folder was begun with other settings or other inputs."""

    def __init__(self, out: Path, differences: Sequence[str]) -> None:
        super().__init__("out", out, "curated with other settings or inputs", differences)


class StrictDrops(LmodError):
    """A strict curation left something out."""

    def __init__(self, listing: Path, reasons: Sequence[str]) -> None:
        super().__init__(
            f"strict=True: some samples or files were dropped ({'; '.join(reasons)}); {listing} lists them.\n"
            f"Next: mend or remove these files, or curate without `--strict` (what is done is kept)."
        )
