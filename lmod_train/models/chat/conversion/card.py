"""The model card of a converted checkpoint: origin of every file and tensor, and choices of the conversion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lmod_train import __version__
from lmod_train.core.errors import WeightsNotFound
from lmod_train.core.files import remembered_sha256, sha256_of
from lmod_train.models.chat.base_files import PROCESSOR, licence_of
from lmod_train.models.chat.conversion.plan import Plan, counted
from lmod_train.models.chat.layouts.base import Layout
from lmod_train.models.chat.stored import weight_files

SHOWN = 3
"""Number of left-out tensors that are named for each reason."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Content of a card beside the files.

    Attributes:
        template: Name of the chat template.
        rows_added: Number of rows added to embedding and head.
        notes: Sentences about choices of the conversion.
    """

    template: str
    rows_added: int
    notes: Sequence[str]


def card(layout: Layout, plan: Plan, facts: Facts, written: Path) -> str:
    """Return the text of the model card.

    Args:
        layout: Layout of the original checkpoint.
        plan: Plan of the tensors.
        facts: Further content.
        written: Folder of the result, complete except for the card.
    """
    licence, name = licence_of(layout.folder), layout.folder.name
    stated = licence if licence != "other" else "not stated in the source's folder; the terms of the source apply"
    parts = [
        f"---\nlicense: {licence}\nlibrary_name: transformers\npipeline_tag: image-text-to-text\n"
        f"base_model: {name}\n---",
        f"# {name}, in the layout of transformers",
        f"Licence: {stated}.",
        f"Converted by lmod_train {__version__} from the layout of {layout.title}. Nothing was trained; no weight is "
        f"random. {len(plan.mapped)} tensors of the source became {len(plan.shapes)}; their types are unchanged.",
        *_decided(facts),
        "## Left out\n\n" + "\n".join(_left_out(plan)),
        "## Source files\n\n" + "\n".join(_hashes(_sources(layout))),
        "## Result files\n\n" + "\n".join(_hashes({f.name: f for f in sorted(written.iterdir())}, settled=False)),
        "For research; not a medical device.",
    ]
    return "\n\n".join(parts) + "\n"


def _decided(facts: Facts) -> Iterator[str]:
    yield f"Chat template: `{facts.template}`, with the same text as the original code."
    if facts.rows_added:
        yield (
            f"Embedding and head have {facts.rows_added} more row(s), for tokens that the processor needs: each is the "
            "mean of the others, so that its logit is the mean of all logits and never the largest."
        )
    yield from facts.notes


def _left_out(plan: Plan) -> Iterator[str]:
    for why, names in counted(plan).items():
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        yield f"- {len(names)} tensor(s), {why}: {', '.join(f'`{n}`' for n in names[:SHOWN])}{more}"
    if not plan.dropped:
        yield "Nothing."


def _sources(layout: Layout) -> Mapping[str, Path]:
    """Return every file that the result depends on, by its name in the card."""
    found: dict[str, Path] = {}
    for folder in filter(None, (layout.folder, layout.tower)):
        kept = {file for pattern in ("config.json", "tokenizer.model", *PROCESSOR) for file in folder.glob(pattern)}
        with suppress(WeightsNotFound):  # a tower's folder may hold only its configuration
            kept |= set(weight_files(folder))
        found |= {f"{folder.name}/{file.name}": file for file in sorted(kept) if file.is_file()}
    return found


def _hashes(files: Mapping[str, Path], *, settled: bool = True) -> Iterator[str]:
    yield "| file | sha256 |\n| --- | --- |"
    for name, file in files.items():
        yield f"| {name} | {remembered_sha256(file) if settled else sha256_of(file)} |"
