"""Errors with the argument, its value, what was expected, and the next command to type."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path


def did_you_mean(option: str, names: Sequence[str], known: Iterable[str], otherwise: str) -> str:
    """Return the cure for names that do not exist: the option with the closest names, if each has one.

    Args:
        option: Option that takes the names, separated by commas.
        names: Those that do not exist.
        known: Those that do.
        otherwise: Cure if one of them is close to none.

    Example:
        >>> did_you_mean("--tasks", ["glaucma"], ["four_way", "glaucoma"], "name others")
        'did you mean `--tasks glaucoma`?'
    """
    existing = sorted(known)
    near = [found for name in names for found in get_close_matches(name, existing, n=1)]
    return f"did you mean `{option} {','.join(near)}`?" if names and len(near) == len(names) else otherwise


class LmodError(Exception):
    """Base class of errors that users can correct; the command line prints them without traceback, with status 2."""

    def __reduce__(self) -> tuple[Callable[..., LmodError], tuple[type[LmodError], tuple[object, ...]]]:
        """Pickle the message only, so that errors of worker processes can be unpickled whatever their arguments."""
        return _again, (type(self), self.args)

    def typed(self, arguments: Sequence[str]) -> str:
        """Return the message; of some errors with the complete next command, made of the one that was typed."""
        return str(self)


def _again(kind: type[LmodError], args: tuple[object, ...]) -> LmodError:
    error = kind.__new__(kind)
    error.args = args
    return error


class SourceNotFound(LmodError):
    """A raw dataset is missing or incomplete."""

    def __init__(self, source: str, root: Path, missing: str, tree: str) -> None:
        super().__init__(
            f"source {source!r}: {missing} is missing under root={str(root)!r}.\n"
            f"Expected one of these layouts:\n{tree}\n"
            f"Next: put the files there, or give another folder, e.g. "
            f"`python -m lmod_train curate --roots.{source} PATH --out CURATED`."
        )


class NothingToCurate(LmodError):
    """No source was recognised below the raw folder."""

    def __init__(self, raw: Path, known: Sequence[str]) -> None:
        super().__init__(
            f"raw={str(raw)!r}: no known source was recognised in it (known: {', '.join(known)}).\n"
            f"Next: `python -m lmod_train list sources` shows the expected folders of each source; "
            f"your own sources are searched if the config names their classes: `--config FILE`; "
            f"`python -m lmod_train phantom --out PHANTOMS --n 64` draws phantoms for a trial."
        )


class ArtifactError(LmodError):
    """A file written by this package is missing, damaged or of another schema version."""

    def __init__(self, path: Path, problem: str, cure: str) -> None:
        super().__init__(f"{path}: {problem}\nNext: {cure}")


class CuratedDamaged(ArtifactError):
    """A file of a complete curated folder is missing or damaged; curating into the same folder would not repair it."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            path, problem, "curate into a new folder: `python -m lmod_train curate --config CONFIG --raw RAW --out NEW`"
        )


class LeavesFolder(ArtifactError):
    """A record names an image outside its curated folder, or a link leads out of it.

    Attributes:
        link: Whether it is a link, which the user may have made and can allow.
    """

    def __init__(self, path: Path, problem: str, link: bool = False) -> None:
        self.link = link
        own = "if you made it, allow it with `--follow_links`; if the folder is from someone else, delete the link"
        other = "curate your own raw data: `python -m lmod_train curate --raw RAW --out NEW`; no such record is read"
        super().__init__(path, problem, own if link else other)

    def typed(self, arguments: Sequence[str]) -> str:
        """Return the message with the complete command that allows the link."""
        again = shlex.join(["python", "-m", "lmod_train", *arguments, "--follow_links"])
        return f"{self}. Yours: `{again}`" if self.link else str(self)


class NoFile(ArtifactError):
    """A folder holds a pipe, a socket, a device or an endless link in the place of a file."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(path, f"expected a file or folder; this is {what}", f"`{shlex.join(['rm', str(path)])}`")


class NotCurated(ArtifactError):
    """A folder is not a curated folder."""

    def __init__(self, curated: Path) -> None:
        taken = curated.is_dir() and any(curated.iterdir())
        out = "NEW" if taken else shlex.quote(str(curated))
        raw = shlex.quote(str(curated)) if taken else "RAW"
        super().__init__(
            curated / "manifest.json",
            "missing: this folder is not curated, or its curation did not finish",
            f"name a folder written by `curate`, or create it: `python -m lmod_train curate --raw {raw} --out {out}`",
        )


class MissingPieces(LmodError):
    """A command lacks several things.

    Args:
        pieces: What it is -> the error about it.
    """

    def __init__(self, pieces: Mapping[str, LmodError]) -> None:
        lines = (f"{name}: {error}".replace("\n", "\n  ") for name, error in pieces.items())
        last = "Next: take these steps, in any order, and type the command again"
        super().__init__("\n".join([f"{len(pieces)} things are missing", *lines, last]))


class NotScored(ArtifactError):
    """A run has no scores."""

    def __init__(self, path: Path, problem: str) -> None:
        run = path.parent
        cure = f"create it from the replies: `python -m lmod_train rescore {shlex.quote(str(run))}`"
        if not (run / "replies").is_dir():
            cure = "name the folder of a run, written by `python -m lmod_train validate --config CONFIG --run RUN`"
        super().__init__(path, problem, cure)


class NotAsked(ArtifactError):
    """The records of a run are missing or damaged; the command that asked them rewrites them and keeps the replies."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(path, problem, f"`{_asked_by(path.parent)}` rewrites it and keeps the replies")


def _asked_by(run: Path) -> str:
    """Return the command that asked the records of a run, as its folder shows."""
    command, place = "validate --config CONFIG", f"--run {shlex.quote(str(run))}"
    if run.parent.name == "judgements":
        command, place = f"judge {shlex.quote(str(run.parent.parent))}", f"--name {shlex.quote(run.name)}"
    elif (run / "dissection").is_dir():
        command, place = "dissect MODEL CURATED", f"--out {shlex.quote(str(run))}"
    elif (run / "checkpoints").is_dir():
        command = "fit --config CONFIG"
    return f"python -m lmod_train {command} {place}"


class ConfigDamaged(ArtifactError):
    """The ``config.yaml`` of a run cannot be read; it is not needed to score, report and continue the run."""

    def __init__(self, path: Path, problem: str) -> None:
        aside = shlex.join(["mv", str(path), f"{path}.damaged"])
        super().__init__(path, problem, f"`{aside}`, and run the command again; replies and checkpoints are kept")


class PackDamaged(ArtifactError):
    """A pack is missing, damaged, or not a pack.

    Attributes:
        problem: What is wrong with it, without its path.
    """

    def __init__(self, path: Path, problem: str) -> None:
        self.problem = problem
        cure = "ask its author for it, written by `python -m lmod_train report --pack RUN --curated CURATED`"
        super().__init__(path, problem, cure)


class Unbuildable(LmodError):
    """Model, data or trainer cannot be built from the options, although each is of the right type."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"model, data and trainer cannot be built from these options: {problem}\n"
            "Next: change the option named above; `python -m lmod_train fit --help_all` shows every option"
        )


class FolderConflict(LmodError):
    """A folder would be continued with other values than it was started with.

    Attributes:
        differences: The differing keys, each with both values.
    """

    def __init__(self, option: str, folder: Path, begun: str, differences: Sequence[str]) -> None:
        self.differences = tuple(differences)
        listed = "\n".join(f"  {line}" for line in differences)
        super().__init__(
            f"{option}={str(folder)!r} was {begun}; these keys differ (was -> now):\n{listed}\n"
            f"Next: use the same values to continue, or name a new folder with `--{option} DIR`."
        )


class RunConflict(FolderConflict):
    """A run folder was started with another configuration."""

    def __init__(self, run: Path, differences: Sequence[str]) -> None:
        super().__init__("run", run, "started with another configuration", differences)


class JudgeConflict(LmodError):
    """A judge of this name has begun with another model, prompt or labels."""

    def __init__(self, folder: Path, differences: Sequence[str]) -> None:
        listed = "\n".join(f"  {line}" for line in differences)
        super().__init__(
            f"name={folder.name!r}: {folder} was begun with another configuration; these keys differ (was -> now):\n"
            f"{listed}\nNext: use the same values to continue, or give this judge another name: `--name NAME`."
        )


class FolderBusy(LmodError):
    """Another process is writing to a folder.

    Args:
        option: Option that names the folder.
        folder: The folder.
        holder: What the lock's file says of its holder; empty if nothing.
        unless: When the lock may be removed, as its holder cannot be reached; empty if it runs on this machine.
    """

    def __init__(self, option: str, folder: Path, holder: Mapping[str, object], unless: str = "") -> None:
        self.option, self.folder, self.holder, self.unless = option, folder, holder, unless
        who, host = (holder.get(name, "?") for name in ("pid", "host"))
        known = f"process {who} on {host}, since {holder.get('since')}: {holder.get('command')}"
        stop = f", or stop it (`kill {who}` on {host})" if holder else ""
        stop += f"; {unless}, remove its lock: `{shlex.join(['rm', str(folder / '.lock')])}`" if unless else ""
        instead = f", or name another folder: `{option} DIR`" if option.startswith("--") else ""
        instead = ", or give this judge another name: `--name NAME`" if option == "--name" else instead
        super().__init__(
            f"{option}={str(folder)!r}: another process is writing to it ({known if holder else 'just started'}).\n"
            f"Next: wait until it has ended{stop}{instead}."
        )

    def named(self, option: str) -> FolderBusy:
        """Return the same error under the option that the user typed."""
        return FolderBusy(option, self.folder, self.holder, self.unless)


class LinkInFolder(LmodError):
    """A file or folder to write is a symbolic link, or lies behind one, inside the folder that the user named."""

    def __init__(self, link: Path, target: Path, folder: Path) -> None:
        copied = shlex.join(["cp", "-rL", str(folder), f"{folder}-copied"])
        super().__init__(
            f"{link}: expected a file or folder of its own; this is a symbolic link to {str(target)!r}, and "
            f"nothing is written through a link inside {folder}.\n"
            f"Next: remove the link, which keeps what it points to: `{shlex.join(['rm', str(link)])}`, and run the "
            f"command again; if you made the link and its content belongs to this folder, `{copied}` copies both, and "
            f"name that folder"
        )


class WeightsNotFound(LmodError):
    """Model weights do not exist at the configured path."""

    def __init__(self, argument: str, value: str, what: str, cure: str) -> None:
        super().__init__(f"{argument}={value!r}: {what}\nNext: {cure}")


class NotConvertible(LmodError):
    """A checkpoint cannot be converted to the layout of transformers; nothing was written."""

    def __init__(self, folder: Path, problem: str, cure: str) -> None:
        super().__init__(f"{folder}: not converted, and nothing was written: {problem}\nNext: {cure}")


class WeightsMismatch(LmodError):
    """A weights file does not fit the model."""

    def __init__(self, path: str, missing: Sequence[str], unexpected: Sequence[str], cure: str) -> None:
        def few(names: Sequence[str]) -> str:
            return ", ".join(list(names)[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "") or "none"

        super().__init__(
            f"{path}: weights do not fit the model (missing: {few(missing)}; unexpected: {few(unexpected)}). "
            f"Nothing was loaded, as a partly loaded model gives wrong answers without an error.\nNext: {cure}"
        )


class BadArgument(LmodError):
    """An argument has an invalid value."""

    def __init__(self, argument: str, value: object, expected: str, cure: str) -> None:
        super().__init__(f"{argument}={value!r}: expected {expected}.\nNext: {cure}")


def check_one_of(argument: str, value: object, known: Collection[str], cure: str) -> None:
    """Raise an error for a value that is none of the known words.

    Example:
        >>> check_one_of("copies", "keep", ["report", "drop"], "leave it out for report")
        Traceback (most recent call last):
        lmod_train.core.errors.BadArgument: copies='keep': expected report or drop.
        Next: leave it out for report
    """
    if value not in known:
        expected = " or ".join(known) if len(known) == 2 else f"one of {', '.join(known)}"
        raise BadArgument(argument, value, expected, cure)


def refuse_folder(path: Path, name: str) -> None:
    """Raise an error for the folder of a run in the place of a file in it."""
    if (path / name).exists():
        raise BadArgument("path", str(path), f"the file {name} of a run, not its folder", f"name {path / name}")


def check_number(argument: str, value: float, least: float, most: float, cure: str) -> None:
    """Raise an error for a number outside a range, NaN and infinity among them.

    Example:
        >>> check_number("lr", float("nan"), 0, 1e3, "set lr: 0.001")
        Traceback (most recent call last):
        lmod_train.core.errors.BadArgument: lr=nan: expected a number from 0 to 1000.
        Next: set lr: 0.001
    """
    if not least <= value <= most:
        raise BadArgument(argument, value, f"a number from {least:.12g} to {most:.12g}", cure)


class ExtensionMissing(LmodError):
    """A task is of an extension that is not here.

    Attributes:
        extension: Its name; empty for several.
    """

    def __init__(self, problem: str, extension: str = "") -> None:
        self.extension = extension
        super().__init__(f"{problem}.\nNext: use an installation of lmod_train that has this extension")


class Untrusted(LmodError):
    """A file names a class that is neither of this package nor trusted by the user.

    Attributes:
        module: Module to name in `--trust`; empty if that would not help.
        place: File it would be imported from; None if there is none.
    """

    def __init__(self, path: str, module: str, place: Path | None, folder: str) -> None:
        self.module, self.place = "" if folder or place is None else module, place
        where = f"it would be imported from {place}" if place else "no module of that name is installed"
        if folder:
            cure = f"code in {folder} is never run; if the module is yours, move it elsewhere and run the command there"
        elif place is None:
            cure = "install its package, or run the command in the folder of its file, and trust the module"
        else:
            cure = f"read that file; if you trust it, run the command with `--trust {module}`"
        super().__init__(
            f"task_class={path!r}: expected a class of this package, as only a file names it; {where}.\nNext: {cure}"
        )

    def typed(self, arguments: Sequence[str]) -> str:
        """Return the message with the complete command that trusts the module."""
        again = shlex.join(["python", "-m", "lmod_train", *arguments, "--trust", self.module])
        return f"{self}: `{again}`" if self.module else str(self)


class CurationConflict(FolderConflict):
    """A curated folder was started with other settings or inputs."""

    def __init__(self, out: Path, differences: Sequence[str]) -> None:
        self._out = out
        super().__init__("out", out, "curated with other settings or inputs", differences)

    def typed(self, arguments: Sequence[str]) -> str:
        """Return the message with the complete command that curates into a new folder."""
        numbered = (self._out.with_name(f"{self._out.name}-{n}") for n in range(2, 1000))
        new = str(next(folder for folder in numbered if not folder.exists()))
        old = {str(self._out): new, f"--out={self._out}": f"--out={new}"}
        again = shlex.join(["python", "-m", "lmod_train", *(old.get(word, word) for word in arguments)])
        what, _, _ = str(self).partition("\nNext:")
        return f"{what}\nNext: `{again}`, or the same values as before to continue."


class StrictDrops(LmodError):
    """A strict curation dropped something that is not in the accepted list."""

    def __init__(self, listing: Path, reasons: Sequence[str], command: str = "") -> None:
        copied, again = listing.parent.with_name(f"{listing.parent.name}-accepted.csv"), _with_accepted(command)
        super().__init__(
            f"strict=True: some samples or files were dropped ({'; '.join(reasons)}); {listing} lists them.\n"
            f"Next: repair these files and curate into a new folder, or curate without `--strict`, or accept drops: "
            f"`cp {shlex.quote(str(listing))} {shlex.quote(str(copied))}`, delete the rows you do not accept, and run "
            f"`{again} --accept {shlex.quote(str(copied))}` (finished work is kept)."
        )


def _with_accepted(command: str) -> str:
    """Return a command without its ``--accept FILE``."""
    words = shlex.split(command) or ["python", "-m", "lmod_train", "curate", "--strict"]
    return shlex.join(without_option(words, "--accept"))


def without_option(words: Sequence[str], option: str) -> list[str]:
    """Return the words of a command without an option and its value.

    Example:
        >>> without_option(["curate", "--out", "O", "--raw=R", "--raw", "S"], "--raw")
        ['curate', '--out', 'O']
    """
    left = [w for before, w in zip(["", *words], words, strict=False) if option not in (before, w)]
    return [word for word in left if not word.startswith(f"{option}=")]


class BadSample(LmodError):
    """A source yielded an invalid sample, which its author has to correct."""

    def __init__(self, source: str, key: object, problem: str, where: str) -> None:
        super().__init__(
            f"source {source!r}, key {key!r}: {problem}.\n"
            f"Next: correct `samples` of `{where}`; a test class that inherits `SourceContract` of tests/contracts.py "
            f"finds such values"
        )
