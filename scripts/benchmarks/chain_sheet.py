"""A contact sheet of chains: images as they are asked about, with question, options and right option of every stage.

    python -m lmod_train phantom --sources xpcr --n 40 --out RAW
    python -m lmod_train curate --config configs/curate/xpcr.yaml --raw RAW --out CHAINS
    python scripts/benchmarks/chain_sheet.py CHAINS sheet.png            # two complete chains of each modality
    python scripts/benchmarks/chain_sheet.py CHAINS sheet.png --modality SLO --chains 8

A chain with more stages comes first; of a stage with several questions, the first is shown. Images of sources that must
not be redistributed are on the sheet, too, with their licence beneath: keep such a sheet on the machine.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap

from PIL import Image

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.option_letters import options_in
from lmod_train.core.types import Record
from lmod_train.extensions.xpcr.stages import STAGE_NAMES
from lmod_train.phantom.contact_sheet import Tile, contact_sheet
from lmod_train.report.thumbnails import licences

SIDE, LETTERS_A_LINE = 420, 58


def chains_of(records: Sequence[Record]) -> list[dict[str, Record]]:
    """Return the first question of each stage of every chain, chains with most stages first."""
    found: defaultdict[tuple[str, str], dict[str, Record]] = defaultdict(dict)
    for record in sorted(records, key=lambda r: r.id):
        found[record.source, record.chain].setdefault(record.chain_step, record)
    return sorted(found.values(), key=lambda chain: -len(chain))


def lines_of(record: Record) -> Iterator[str]:
    """Yield the question of a record and its options, the right one with an arrow, in lines of the sheet's width."""
    question = record.messages[-1].parts[-1].text.partition("\nA. ")[0]
    right = record.answer.removeprefix("Answer: ")[0]
    yield from wrap(f"{record.chain_step}  {question}", LETTERS_A_LINE)
    for letter, text in options_in(record.messages).items():
        yield f"{'  >' if letter == right else '   '} {letter}. {text}"


def warning_of(record: Record, curated: Path) -> list[str]:
    """Return lines with the licence of a record's images if they must not be redistributed; otherwise none."""
    closed = dict.fromkeys(one.licence for one in licences(curated, [record]) if one.stays)
    return [line for licence in closed for line in wrap(f"not for redistribution: {licence}", LETTERS_A_LINE)]


def tile_of(chain: dict[str, Record], curated: Path) -> Tile:
    """Return the image of a chain with its licence, where it must not be redistributed, and its questions beneath."""
    shown = next(iter(chain.values()))
    image = Image.open(curated / shown.image[0])
    lines = [line for stage in STAGE_NAMES if stage in chain for line in lines_of(chain[stage])]
    return Tile(image, f"{shown.modality} · {shown.source} · {shown.key}", (*warning_of(shown, curated), *lines))


def main() -> int:
    """Write the sheet; return 1 if there is no chain."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("curated", type=Path, help="folder written by curate")
    parser.add_argument("out", type=Path, help="PNG file to write")
    parser.add_argument("--modality", help="one modality, e.g. SLO; all by default")
    parser.add_argument("--chains", type=int, default=2, help="chains of each modality; 2 by default")
    given = parser.parse_args()
    records = [r for r in read_records(given.curated / "records") if r.task == "chain"]
    names = [given.modality] if given.modality else sorted({r.modality for r in records})
    chains = [c for m in names for c in chains_of([r for r in records if r.modality == m])[: given.chains]]
    if not chains:
        print("no chain in these records", file=sys.stderr)
        return 1
    contact_sheet([tile_of(chain, given.curated) for chain in chains], given.out, columns=4, side=SIDE)
    print(f"wrote {given.out}: {len(chains)} chains")
    return 0


if __name__ == "__main__":
    sys.exit(main())
