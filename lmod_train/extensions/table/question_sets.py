"""Sets of questions, in the layouts that the field publishes: rows that are questions, and the command `import`.

`import` and `curate --table` take the same files; what a file holds decides who reads it.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse.typing import NonNegativeInt

from lmod_train.cli.curation import print_copies, print_drops
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Dropped
from lmod_train.data.cells.values import ids_in_doubt
from lmod_train.data.cells.vocabulary import HEADERS, plain
from lmod_train.data.curation.accepted import Refusal, refused
from lmod_train.data.curation.manifest_files import write_dropped
from lmod_train.extensions.table.law import LISTING, TENTH, Loss
from lmod_train.extensions.table.meanings import option_of, typed

if TYPE_CHECKING:
    from lmod_train.data.formats.conversations import Conversations


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
        file: JSON, .jsonl, Parquet or a folder of `datasets` with conversations of LLaVA, ShareGPT, OpenAI or ms-swift;
            or a table of questions, e.g. VLMEvalKit's TSV.
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
        column: Meaning of a column of a table, e.g. `--column answer_from_0=label`. Repeatable.
        value: Word that a cell of a table stands for, e.g. `--value split:0=test`. Repeatable.
        accept: File of losses that may be: a checked OUT/losses.csv, or rows of source, key and reason.
        ratios: Shares of train, val and test. Conversations about the same image are in the same split.
        longest_side: Maximum length of the longer side of curated images in pixels; smaller images keep their size, and
            `null` keeps all sizes.
        seed: Seed of the splits.
        workers: Number of processes that read and write images.
    """
    given = {**locals(), "table": file}
    if is_conversed(given):
        return
    from lmod_train.extensions.table.command import curate_table

    told = [*(column or ()), *([f"patient={patient}"] if patient else ())]
    same = {name: given[name] for name in ("table", "images", "out", "language", "value", *_ORIGIN, *_SETTINGS)}
    curate_table(**same, column=told)


_ORIGIN = ("name", "licence", "redistributable", "modality", "accept")

_SETTINGS = ("ratios", "longest_side", "seed", "workers")

_OF_TABLES = ("value", "ask", "sheet", "visits", "page", "plan", "long", "balance", "grounding")


def is_conversed(given: Mapping[str, Any]) -> bool:
    """Turn a file of conversations into records; False for another file.

    Args:
        given: Options of `import` or of `curate --table`.

    Raises:
        BadArgument: An option was typed that a file without columns cannot take.
    """
    if not holds_conversations(given["table"]):
        return False
    column: list[str] = given["column"] or []
    named = [text.partition("=")[2] for text in column if text.startswith("patient=")]
    others = [text for text in column if not text.startswith("patient=")] or named[1:]
    for option, value in {**{name: given.get(name) for name in _OF_TABLES}, "column": others}.items():
        if value:
            expected = f"nothing for {given['table'].name}, which holds conversations, and no columns but a patient's"
            raise BadArgument(f"--{option}", value, expected, "`--column patient=FIELD`, or leave it out")
    converse(given, "".join(named) or given.get("patient", ""), bool(named))
    return True


_TURNS = re.compile(r'"(?:conversations|conversatons|messages)"\s*:\s*\[')


def holds_conversations(file: Path) -> bool:
    """Return whether a file holds conversations, by the keys of its objects; False for one that cannot be read."""
    from lmod_train.core.raw import decoded, open_file, read_bytes
    from lmod_train.data.sources.objects import MOST_BYTES, is_conversation, is_parquet, objects_in

    try:
        if file.is_dir() or is_parquet(file):
            return is_conversation(next(objects_in(file), None))
        with open_file(file, MOST_BYTES) as opened:
            begins = opened.read(64).lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")[:1]
        return begins in (b"[", b"{") and _TURNS.search(decoded(read_bytes(file, MOST_BYTES))) is not None
    except (OSError, ValueError):
        return False


def converse(given: Mapping[str, Any], patient: str, believed: bool) -> None:
    """Turn a file of conversations into records, and print what was written and what was left out.

    Args:
        given: Options of `import` or of `curate --table`.
        patient: Field of an item with the patient.
        believed: Whether the numbers of patients are used even where they look wrong.
    """
    from lmod_train.core.files import remove
    from lmod_train.core.lock import locked
    from lmod_train.data.curation.accepted import read_accepted
    from lmod_train.data.curation.pipeline import check_out
    from lmod_train.data.formats.conversations import Conversations, held_images, import_conversations
    from lmod_train.data.sources.objects import HELD, objects_in, unpack

    file, out, accept = given["table"], given["out"], given["accept"]
    patient = patient or _patient_in(next(objects_in(file), None))
    source = given["name"] or re.sub(r"\W|^(?=\d)", "_", file.stem)
    folder = given["images"] or (file if file.is_dir() else file.parent)
    origin = (given["licence"] or "not stated", given["redistributable"], given["modality"], given["language"] or "en")
    talks = Conversations(file, folder, source, *origin, patient)
    talks.verify()
    refusal = MostItems(accepted=read_accepted(accept) if accept else Counter(), source=talks, believed=believed)
    with locked(out, "--out"):
        check_out(out)
        talks.held = unpack(out / HELD, held_images(objects_in(file)))
        command = shlex.join(["python", "-m", "lmod_train", *sys.argv[1:]])
        settings: dict[str, Any] = {name: given[name] for name in _SETTINGS}
        settings |= {"refusal": refusal, "command": command, "progress": sys.stderr.isatty()}
        manifest = import_conversations(talks, out, **settings)
    remove(out / HELD)
    print_copies(manifest, out)
    for task, counts in manifest["counts"].items():
        parts = ", ".join(f"{part} {c['records']}" for part, c in counts.items()) or "none"
        print(f"{task}: {sum(c['records'] for c in counts.values())} records ({parts}){_RULES.get(task, '')}")
    print_drops(out)
    print(f"wrote {out / 'manifest.json'}")


def _patient_in(item: Any) -> str:
    """Return the field of an item that is named like a patient, as that of a table; empty without one."""
    fields = item if isinstance(item, Mapping) else {}
    found = next((name for name in fields if plain(name) in HEADERS["patient"] and name != "id"), "")
    if found:
        print(f"patients by {found}; `--patient NAME` names another field")
    return found


_RULES = {
    "yes_no_conversation": ", whose whole answer is yes or no; scored by accuracy",
    "choice_conversation": ", whose words list options; scored by accuracy",
}


@dataclass(frozen=True)
class MostItems(Refusal):
    """Refuses a file of conversations of which more than a tenth cannot be used, before its images are read and after.

    Attributes:
        source: The file.
        believed: Whether the numbers of patients are used even where they look wrong.
    """

    source: Conversations = None  # type: ignore[assignment]  # the fields of the base have defaults
    believed: bool = False

    def raise_before(self, dropped: Sequence[Dropped], out: Path) -> None:
        """Check what cannot be read.

        Raises:
            Loss: It is too much; ``losses.csv`` in `out` lists what.
            BadArgument: The numbers of patients look wrong.
        """
        if not self.believed and (wrong := ids_in_doubt(self.source.people)):
            cure = f"correct them, or `{typed(option_of('patient', self.source.patient))}` if they are right"
            raise BadArgument("--patient", self.source.patient, f"a field of patients ({wrong})", cure)
        self.raise_for(dropped, out / LISTING)

    def raise_for(self, dropped: Sequence[Dropped], listing: Path) -> None:
        """Check what is lost, with the images that could not be read.

        Raises:
            Loss: It is too much.
        """
        new = [one for one in refused(dropped, self.accepted) if one.extent == "gone"]
        if len(new) > TENTH * self.source.items:
            reasons = ", ".join(f"{reason} {n}" for reason, n in Counter(one.reason for one in new).most_common())
            lines = [f"{len(new)} of {self.source.items} items are not read ({reasons})"]
            file = listing.with_name(LISTING)
            write_dropped(file, dropped, {self.source.name: self.source.root})
            lines.append(f"the first: {new[0].key}: {new[0].detail}")
            raise Loss(lines, file, "conversations of the file")
