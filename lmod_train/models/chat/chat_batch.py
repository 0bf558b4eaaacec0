"""Batches for vision-language models: token ids of the questions and the distinct images they show."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from lmod_train.core.types import Batch, Record
from lmod_train.models.chat.encoding import Images


class ChatBatch(Batch):
    """A batch of questions as token ids, with each distinct image once.

    Attributes:
        records: One record for each question.
        prompt_ids: Token ids of each prompt, image tokens expanded.
        answer_ids: Token ids of each answer, end token included; [] for a record without an answer.
        rendered: Each prompt as text, with one image marker per image.
        images: The distinct images that the records show; empty for a batch of text.
        images_of: For each record the indices of its images in `images`, in the order of its prompt; () for none.
        leads: For each record the number of tokens of `answer_ids` that are its answer, where more follows; 0 for all.
        refused: Index of a record that cannot be trained on -> why. Without a prompt it cannot be asked either.
        share: Weight of the batch's mean loss in the mean over its optimiser step; 1 where all batches are equal.
    """

    def __init__(
        self,
        records: Sequence[Record],
        prompt_ids: Sequence[list[int]],
        answer_ids: Sequence[list[int]],
        rendered: Sequence[str],
        images: Images | None = None,
        images_of: Sequence[tuple[int, ...]] | None = None,
    ) -> None:
        super().__init__(records)
        self.prompt_ids, self.answer_ids, self.rendered = list(prompt_ids), list(answer_ids), list(rendered)
        self.images = Images([], []) if images is None else images
        self.images_of: list[tuple[int, ...]] = [() for _ in self.records] if images_of is None else list(images_of)
        self.leads = [0] * len(self.records)
        self.refused: dict[int, str] = {}
        self.share: float | Tensor = 1.0

    def unasked(self) -> dict[int, str]:
        """Return the index of each record that cannot be asked -> why."""
        return {i: why for i, why in self.refused.items() if not self.prompt_ids[i]}

    def part(self, kept: Sequence[int]) -> ChatBatch:
        """Return a batch of some of the records, with all images."""
        prompts, answers, rendered, shown = (
            [values[i] for i in kept] for values in (self.prompt_ids, self.answer_ids, self.rendered, self.images_of)
        )
        one = ChatBatch([self.records[i] for i in kept], prompts, answers, rendered, self.images, shown)  # type: ignore[arg-type]
        one.leads = [self.leads[i] for i in kept]
        return one
