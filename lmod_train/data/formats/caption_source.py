"""Reviewed questions from captions as a source of the one curation."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from lmod_train.core.curated import Curated
from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.core.files import remove, sha256_of, write_durably
from lmod_train.core.links import check_link
from lmod_train.core.types import Dropped, Question, Sample, SampleStream
from lmod_train.data.formats.caption_drafts import FILE
from lmod_train.data.sources.base import UNPLACED, Source
from lmod_train.tasks.captioned.caption import Caption
from lmod_train.tasks.captioned.pair import KINDS, Half, worded
from lmod_train.tasks.drafting.captions.reviewing import Accepted
from lmod_train.tasks.prompt import prompt

RELEASED = "released.jsonl"
"""In the folder of the drafts: the questions that a review has released, a line each."""


def write_released(path: Path, found: Sequence[Accepted], captions: Mapping[str, Caption]) -> None:
    """Write the questions of a review whole, a JSON line each; without one, remove the file of an earlier review."""
    if not found:
        remove(path)
        return
    rows = []
    for one in found:
        caption, item = captions[one.item.caption], one.item
        about: dict[str, object] = {
            "image": caption.image,
            "sha256": caption.sha256,
            "group": caption.group,
            "modality": caption.modality,
        }
        about |= {"licence": caption.licence, "phantom": caption.phantom, "kind": item.kind, "review": one.how}
        halves = {language: asdict(half) for language, half in item.pair.halves.items()}
        rows.append(about | {"altered": item.altered, "tags": dict(caption.tags), **halves})
    with write_durably(path) as beside:
        text = "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows)
        beside.write_bytes(text.encode("utf-8", "surrogatepass"))


class ReviewedCaptions(Source):
    """Questions that a model wrote from captions and people reviewed; keys are paths of the images.

    Ready questions of the tasks `binary_question`, `single_choice_question` and `open_question`, in Chinese and
    English, the two halves of a question with one number. Tags state the language, the review (``reviewed`` or
    ``sampled``), the subspecialty, and whether there is text in the image, where the table of captions does. Patients
    are groups.

    Args:
        root: Folder written by `draft captions`, with a review of its questions.
    """

    name = "captions"
    modality = ""
    licence = "that of the images"
    redistributable = False
    reference = "questions written by a model from captions and reviewed by people"

    def __init__(self, root: Path = UNPLACED) -> None:
        super().__init__(root)

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether the folder was written by `draft captions`."""
        return (folder / FILE).is_file()

    def verify(self) -> None:
        """Check that there are reviewed questions.

        Raises:
            BadArgument: There are none: without a review of a sample no question becomes a record.
        """
        if not (self.root / RELEASED).is_file():
            cure = f"python -m lmod_train draft review-captions {self.root} --blank SHEET.csv"
            expected = f"a folder of questions with a review that has passed ({RELEASED} is missing)"
            raise BadArgument("--roots.captions", str(self.root), expected, f"let people review a sample: `{cure}`")

    def inputs(self) -> Mapping[str, Any]:
        """Return the SHA-256 of the released questions, and how many were reviewed, for the manifest."""
        rows = self._rows()
        return {"sha256": sha256_of(self.root / RELEASED), "review": dict(Counter(str(row["review"]) for row in rows))}

    def samples(self) -> SampleStream:
        """Yield a sample for each image with its questions; one that has changed since is left out and listed."""
        images = Curated(self.root)
        rows = sorted(self._rows(), key=lambda row: str(row["image"]))
        for image, several in groupby(rows, key=lambda row: str(row["image"])):
            own = list(several)
            path, first = images.file(image), own[0]
            if not path.is_file() or sha256_of(path) != first["sha256"]:
                yield Dropped(self.name, image, image, "read", "image_changed", "not the image of the caption")
                continue
            yield Sample(
                source=self.name,
                key=image.partition("/")[2],
                modality=str(first["modality"]),
                image=path,
                group=str(first["group"]),
                licence=str(first["licence"]),
                phantom=bool(first["phantom"]),
                asked=tuple(_questions(own)),
            )

    def _rows(self) -> list[dict[str, Any]]:
        """Return the rows of the file of released questions.

        Raises:
            ArtifactError: A line is damaged.
        """
        path = self.root / RELEASED
        check_link(self.root, path)
        try:
            text = path.read_text(encoding="utf-8", errors="surrogatepass")
            rows = [json.loads(line) for line in text.splitlines() if line.strip()]
            for row in rows:
                _check(row)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            cure = (
                f"read the sheets again: `python -m lmod_train draft review-captions {self.root} --sheets A.csv B.csv`"
            )
            raise ArtifactError(path, f"cannot be read ({type(error).__name__}: {error})", cure) from error
        return rows


def _check(row: Mapping[str, Any]) -> None:
    """Refuse a row that does not hold a question in both languages.

    Raises:
        ValueError: It does not.
        KeyError: A value is missing.
    """
    texts = ("image", "sha256", "group", "modality", "licence", "review")
    if row["kind"] not in KINDS or not all(isinstance(row[name], str) for name in texts):
        raise ValueError("a row is no question")
    for language in ("en", "zh"):
        half = _half(row[language])
        if half.options and half.right < 0:
            raise ValueError("an answer is no option")


def _half(row: Mapping[str, Any]) -> Half:
    return Half(str(row["question"]), tuple(map(str, row["options"])), str(row["answer"]))


def _questions(rows: Sequence[Mapping[str, Any]]) -> Iterator[Question]:
    """Yield both halves of each question about an image, numbered by kind."""
    numbers: Counter[str] = Counter()
    for row in rows:
        kind = str(row["kind"])
        numbers[kind] += 1
        for language in ("zh", "en"):
            half = _half(row[language])
            words = worded(half, language) if kind == KINDS[1] else half.question
            tags = {**row["tags"], "language": language, "review": str(row["review"])}
            yield Question(
                kind, prompt(words), half.options, half.answer, language,
                variant=f"{numbers[kind]}-{language}", tags=tags,
            )  # fmt: skip
