"""The task by which a model drafts questions: one record for each stage of an image that has a truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from string import ascii_uppercase
from urllib.parse import quote

from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Answer, Prediction, Question, Record, Reply, Sample, Score, Unparsed, class_path
from lmod_train.scoring.items import items_of
from lmod_train.scoring.judged import account_scores
from lmod_train.tasks.base import Task
from lmod_train.tasks.drafts.draft import read_draft
from lmod_train.tasks.drafts.facts import Facts, known_of
from lmod_train.tasks.drafts.words import OPTIONS, words_for
from lmod_train.tasks.prompt import prompt

Size = tuple[int, int]


class Drafting(Task):
    """Draft of a single-choice question with a long answer, by a listing of X-PCR and the facts of an image.

    Its records are made from the records of a curated folder (`records`), not from samples. A reply is *answered* if a
    draft can be read in it; `lmod_train.tasks.drafting` checks it, and people review it.

    Args:
        seed: Seed of the letter of each right option, and of the choice among several structures.

    Example:
        >>> Drafting().parse(Reply("a", "Which eye?")).reason
        'no_match'
    """

    name = "draft"
    version = 1
    choices = ()

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield nothing: labels of a sample become facts only with its records."""
        yield from ()

    def records(self, records: Iterable[Record], size_of: Callable[[Record], Size]) -> list[Record]:
        """Return one record for each stage of each sample that has a truth, in id order.

        Args:
            records: Records of a curated folder.
            size_of: Returns width and height of a record's original image in pixels.
        """
        ordered = sorted(records, key=_place)
        known = [one for _, several in groupby(ordered, key=_place) for one in known_of([*several], size_of, self.seed)]
        return sorted((self._record(record, facts) for record, facts in known), key=lambda r: r.id)

    def _record(self, of: Record, facts: Facts) -> Record:
        kind = type(self)
        return Record(
            id="/".join([self.name, quote(of.source, safe=""), quote(of.key), facts.stage]),
            task=self.name,
            task_class=class_path(kind),
            task_version=self.version,
            source=of.source,
            key=of.key,
            modality=of.modality,
            image=of.image_plain,
            image_plain=of.image_plain,
            image_sha256=of.image_sha256,
            split=of.split,
            group=of.group,
            language="en",
            messages=prompt(words_for(facts, self._letter(of, facts))),
            choices=(),
            answer=facts.truth,
            scale=of.scale,
            chain=of.chain or f"{quote(of.source, safe='')}/{quote(of.key, safe='')}",
            chain_step=facts.stage,
            tags={name: of.tags[name] for name in ("level", "impact") if name in of.tags} | {"stage": facts.stage},
            phantom=of.phantom,
            patient=of.patient,
            licence=of.licence,
        )

    def _letter(self, of: Record, facts: Facts) -> str:
        number = int(shuffle_key(self.seed, "letter", of.source, of.key, facts.stage)[:8], 16)
        return ascii_uppercase[number % OPTIONS]

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return the draft in the requested form, or why there is none in the reply.

        ``failed``, ``refused`` and ``truncated`` as in other tasks (a draft that is cut off is not used); otherwise
        that of `read_draft`.
        """
        if reply.finish_reason == "error" or reply.error:
            return Unparsed("failed", reply.error)
        if reply.finish_reason in ("refusal", "content_filter"):
            return Unparsed("refused", reply.reply[:80])
        if reply.finish_reason == "length":
            return Unparsed("truncated", reply.reply[-80:])
        draft = read_draft(reply.reply)
        return draft if isinstance(draft, Unparsed) else draft.text

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return the shares of the statuses: how many replies hold a draft. Its content is checked, not scored."""
        return account_scores(self.name, items_of(predictions, lambda p: p.record.answer))


def _place(record: Record) -> tuple[str, str]:
    return record.source, record.key
