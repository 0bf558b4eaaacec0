"""Errors that write their own cure: what was given, what was expected, and the next command to type."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
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
            f"a source of your own is looked for if the config names its class: `--config FILE`; "
            f"`python -m lmod_train phantom --out PHANTOMS --n 64` draws phantoms to try with."
        )


class ArtifactError(LmodError):
    """A file of ours is missing, damaged or of another schema."""

    def __init__(self, path: Path, problem: str, cure: str) -> None:
        super().__init__(f"{path}: {problem}\nNext: {cure}")


class CuratedDamaged(ArtifactError):
    """A file of a finished curated folder is missing or damaged; curating into the same folder would change nothing."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            path, problem, "curate into a new folder: `python -m lmod_train curate --config CONFIG --raw RAW --out NEW`"
        )


class NotCurated(ArtifactError):
    """A folder that should be a curated one is none."""

    def __init__(self, curated: Path) -> None:
        taken = curated.is_dir() and any(curated.iterdir())
        out = "NEW" if taken else shlex.quote(str(curated))
        raw = shlex.quote(str(curated)) if taken else "RAW"
        super().__init__(
            curated / "manifest.json",
            "missing: this folder is not curated, or its curation did not finish",
            f"name the folder that `curate` wrote, or make it: `python -m lmod_train curate --raw {raw} --out {out}`",
        )


class NotScored(ArtifactError):
    """A folder that should be a run with scores holds none."""

    def __init__(self, path: Path, problem: str) -> None:
        run = path.parent
        cure = f"derive it from the replies: `python -m lmod_train rescore {shlex.quote(str(run))}`"
        if not (run / "replies").is_dir():
            cure = "name the folder of a run, which `python -m lmod_train validate --config CONFIG --run RUN` makes"
        super().__init__(path, problem, cure)


class NotAsked(ArtifactError):
    """The records of a run are missing or damaged; asking again writes them anew and keeps the replies."""

    def __init__(self, path: Path, problem: str) -> None:
        run = shlex.quote(str(path.parent))
        cure = f"`python -m lmod_train validate --config CONFIG --run {run}` writes it anew and keeps the replies"
        super().__init__(path, problem, cure)


class ConfigDamaged(ArtifactError):
    """The ``config.yaml`` of a run cannot be read; without it the run can be scored, reported and continued."""

    def __init__(self, path: Path, problem: str) -> None:
        aside = shlex.join(["mv", str(path), f"{path}.damaged"])
        super().__init__(path, problem, f"`{aside}` and type the same again; replies and checkpoints stay as they are")


class Unbuildable(LmodError):
    """Options that are each of the right type, and of which no model, data or trainer can be made."""

    def __init__(self, said: str) -> None:
        super().__init__(
            f"model, data and trainer cannot be built from these options: {said}\n"
            "Next: change the option that this names; `python -m lmod_train fit --help_all` shows every option"
        )


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


class FolderBusy(LmodError):
    """Another process writes into a folder."""

    def __init__(self, option: str, folder: Path, holder: Mapping[str, object]) -> None:
        who, host = (holder.get(name, "?") for name in ("pid", "host"))
        known = f"process {who} on {host}, since {holder.get('since')}: {holder.get('command')}"
        stop = f", or stop it (`kill {who}` on {host})" if holder else ""
        instead = f", or name another folder: `{option} DIR`" if option.startswith("--") else ""
        super().__init__(
            f"{option}={str(folder)!r}: another process writes into it ({known if holder else 'it has just begun'}).\n"
            f"Next: wait until it has ended{stop}{instead}."
        )


class WeightsNotFound(LmodError):
    """Model weights are not where the configuration says."""

    def __init__(self, argument: str, value: str, what: str, cure: str) -> None:
        super().__init__(f"{argument}={value!r}: {what}\nNext: {cure}")


class NotConvertible(LmodError):
    """A checkpoint of another layout cannot be turned into one that transformers loads; nothing was written."""

    def __init__(self, folder: Path, problem: str, cure: str) -> None:
        super().__init__(f"{folder}: not converted, and nothing was written: {problem}\nNext: {cure}")


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


class Untrusted(LmodError):
    """A file names a class whose code is neither this package's nor trusted by the user.

    Attributes:
        module: What `--trust` would have to name; empty where that would not help.
        place: Where it would be imported from; None where there is nothing of that name.
    """

    def __init__(self, path: str, module: str, place: Path | None, folder: str) -> None:
        self.module, self.place = "" if folder or place is None else module, place
        where = f"it would be imported from {place}" if place else "no module of that name is installed"
        if folder:
            cure = f"nothing in {folder} is ever run; if the module is yours, keep it elsewhere and start from there"
        elif place is None:
            cure = "install the package that defines it, or start where its file lies, and trust its module"
        else:
            cure = f"look into that file; if you trust it, type the same with `--trust {module}`"
        super().__init__(
            f"task_class={path!r}: expected a class of this package, as a file names it and nobody else; {where}.\n"
            f"Next: {cure}"
        )

    def typed(self, arguments: Sequence[str]) -> str:
        """Return the message with the whole command that trusts the module."""
        again = shlex.join(["python", "-m", "lmod_train", *arguments, "--trust", self.module])
        return f"{self}: `{again}`" if self.module else str(self)


class CurationConflict(FolderConflict):
    """A curated folder was begun with other settings or other inputs."""

    def __init__(self, out: Path, differences: Sequence[str]) -> None:
        super().__init__("out", out, "curated with other settings or inputs", differences)


class StrictDrops(LmodError):
    """A strict curation left something out that nobody accepted."""

    def __init__(self, listing: Path, reasons: Sequence[str], command: str = "") -> None:
        copied, again = listing.parent.with_name(f"{listing.parent.name}-accepted.csv"), _with_accepted(command)
        super().__init__(
            f"strict=True: some samples or files were dropped ({'; '.join(reasons)}); {listing} lists them.\n"
            f"Next: mend these files and curate into a new folder, or curate without `--strict`, or look through the "
            f"list, `cp {shlex.quote(str(listing))} {shlex.quote(str(copied))}`, remove what must not pass, and type "
            f"`{again} --accept {shlex.quote(str(copied))}` (what is done is kept)."
        )


def _with_accepted(command: str) -> str:
    """Return a command without its ``--accept FILE``, for another one to follow."""
    words = shlex.split(command) or ["python", "-m", "lmod_train", "curate", "--strict"]
    left = [w for before, w in zip(["", *words], words, strict=False) if "--accept" not in (before, w)]
    return shlex.join(word for word in left if not word.startswith("--accept="))


class BadSample(LmodError):
    """A source yielded something that curation cannot use; its author can mend it."""

    def __init__(self, source: str, key: object, problem: str, where: str) -> None:
        super().__init__(
            f"source {source!r}, key {key!r}: {problem}.\n"
            f"Next: mend `samples` of `{where}`; a test class that inherits `SourceContract` of tests/contracts.py "
            f"finds such values"
        )
