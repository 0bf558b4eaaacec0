"""What is learnt, token by token: the labels, their end, and that training and asking use the same words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from lmod_train.chat.generation import end_tokens
from lmod_train.doctor.finding import Finding, Level
from lmod_train.doctor.subject import Subject
from lmod_train.errors import LmodError
from lmod_train.types import Batch, Record

MASKED = 0.001
"""Share of records too long to be learnt from above which it is told."""
TOO_MANY = 0.1
"""Share of them above which training is refused; up to it they are left out and listed as the run goes on."""
ONE_TOKEN = 0.3
"""Share of all supervised tokens that one token may have before it is told."""
SHOWN = 3
COMPARED = 4
"""Prompts compared with those of transformers itself."""


def labels(subject: Subject) -> Iterator[Finding]:
    """Look at the supervised tokens of some records, and at the length of all: they end with what stops a reply."""
    if (batch := subject.drawn) is None:
        yield Finding("labels", "skip", "no module or no records to make tokens of")
        return
    module: Any = subject.module
    answers, count, images = batch.tensors["answer_ids"], len(subject.records()), _added(module.dialect, batch)
    largest, smallest, limit = max(images), min(images), module.max_tokens
    long = list(_long(subject, batch, largest))
    lost, surely = ([r.id for r, n in long if n + image * len(r.image) > limit] for image in (largest, smallest))
    if len(lost) > MASKED * count:
        number = str(len(lost)) if lost == surely else f"{len(surely)}, or {len(lost)} with large images,"
        what = f"{number} of {count} records are longer than {limit} tokens, e.g. {lost[0]}"
        why = "they are left out and listed: nothing of them would be learnt"
        level: Level = "fail" if len(surely) > TOO_MANY * count else "warn"
        yield Finding("labels", level, what, why, "raise model.init_args.max_tokens, or shorten prompts (data.tasks)")
    ends = _ends(module)
    open_ended = [r.id for r, a in zip(batch.records, answers, strict=True) if not a or a[-1] not in ends]
    if open_ended:
        what = f"{len(open_ended)} of {len(batch)} answers do not end with a token that stops a reply ({sorted(ends)})"
        why = "a model that is never taught to stop goes on to the token limit"
        yield Finding("labels", "fail", what, why, "use the tokenizer and chat template published with the weights")
    yield from _shown(module, batch, ends)


def replies(subject: Subject) -> Iterator[Finding]:
    """Compare the answers' length with the longest reply: one that is cut off cannot be right.

    A token stands for one byte at least, so that most answers are known to be short enough without their tokens.
    """
    if subject.module is None or not subject.records():
        yield Finding("replies", "skip", "no module or no records to make tokens of")
        return
    limit, tokenizer = subject.module.max_new_tokens, subject.module.dialect.tokenizer
    counted = Counter(r.answer.strip() for r in [*subject.records(), *subject.asked()])
    doubtful = [answer for answer in counted if len(answer.encode()) > limit]
    lengths = {answer: len(tokenizer(answer, add_special_tokens=False).input_ids) for answer in doubtful}
    cut = sum(counted[answer] for answer, n in lengths.items() if n > limit)
    if cut > MASKED * counted.total():
        longest = max(lengths.values())
        what = f"{cut} of {counted.total()} answers have more tokens than max_new_tokens={limit}, up to {longest}"
        level: Level = "fail" if cut > TOO_MANY * counted.total() else "warn"
        why = "replies are cut off there, and a model that has learnt them whole is scored as if it had not"
        cure = f"set model.init_args.max_new_tokens to {longest + 1} or more"
        yield Finding("replies", level, what, why, cure)
    else:
        yield Finding("replies", "ok", f"{counted.total()} answers, each within max_new_tokens={limit}")


def _long(subject: Subject, batch: Batch, image: int) -> Iterator[tuple[Record, int]]:
    """Yield the records that may be too long where an image adds `image` tokens, with their tokens but for those.

    A token stands for one byte at least, so that most records are known to be short enough without their tokens.
    """
    module: Any = subject.module
    dialect, limit = module.dialect, module.max_tokens
    around = len(batch.tensors["rendered"][0].encode()) - sum(len(w.strip().encode()) for w in _words(batch.records[0]))
    for record in subject.records():
        words = sum(len(text.encode()) for text in (*_words(record), record.answer, dialect.end))
        if words + around * len(record.messages) + image * len(record.image) > limit:
            yield record, sum(map(len, dialect.encode(*dialect.render(record), dialect.processor.image_token)))


def _added(dialect: Any, batch: Batch) -> set[int]:
    """Return how many tokens the images of a batch add to their markers; {0} where it has none."""
    prompts = zip(batch.records, batch.tensors["rendered"], batch.tensors["prompt_ids"], strict=True)
    marked = ((text, ids) for record, text, ids in prompts if record.image)
    return {len(ids) - len(dialect.encode(text, "", dialect.processor.image_token)[0]) for text, ids in marked} or {0}


def _shown(module: Any, batch: Batch, ends: set[int]) -> Iterator[Finding]:
    """Print some targets as they are learnt, and tell a token that fills most of the supervision."""
    answers, decode = batch.tensors["answer_ids"], module.dialect.tokenizer.decode
    counted = Counter(token for answer in answers for token in answer)
    token, most = next(((t, n) for t, n in counted.most_common() if t not in ends), (0, 0))
    shown = "\n".join(f"{r.id} -> {decode(a)!r}" for r, a in list(zip(batch.records, answers, strict=True))[:SHOWN])
    share = sum(n for t, n in counted.items() if t in ends) / max(counted.total(), 1)
    said = f"{counted.total()} supervised tokens of {len(batch)} records, {share:.0%} of them end tokens"
    yield Finding("labels", "ok", f"{said}; learnt is, e.g.:\n{shown}")
    if most > ONE_TOKEN * counted.total():
        what = f"{decode([token])!r} is {most / counted.total():.0%} of what is supervised"
        yield Finding(
            "labels", "warn", what, "what is commonest is what a failing model repeats", "compare the answers"
        )


def template(subject: Subject) -> Iterator[Finding]:
    """Compare what is learnt with what will be asked: the record's words, and the tokens of transformers itself."""
    if subject.module is not None and (held := _holding_the_image_token(subject)):
        what = f"{len(held)} records hold the model's image token in their words, e.g. {held[0]}"
        why = "it would stand for an image that is not there: the run would stop at that record"
        yield Finding("template", "fail", what, why, "take these records out, or their task out of data.tasks")
        return
    if (batch := subject.drawn) is None:
        yield Finding("template", "skip", "no module or no records to render")
        return
    module: Any = subject.module
    for record, rendered in zip(batch.records, batch.tensors["rendered"], strict=True):
        if missing := [w for w in _words(record) if w.strip() not in rendered]:
            what = f"the prompt of {record.id} lacks words of its record, e.g. {missing[0][:80]!r}"
            why = "the model would be asked something else than the record says"
            yield Finding("template", "fail", what, why, "use the chat template published with the weights")
            return
    if not _marks(module.dialect, batch):
        why = "an instruction-tuned model knows its turns by their marks, and a prompt without them is new to it"
        cure = "use the chat_template.jinja published with the weights"
        yield Finding("template", "warn", "the prompt has no mark of a turn", why, cure)
    for record, learnt in list(zip(batch.records, batch.tensors["prompt_ids"], strict=True))[:COMPARED]:
        plain = module.dialect.plain_prompt(record, subject.data.curated)  # type: ignore[union-attr]
        if plain != learnt:
            what = f"plain transformers makes {len(plain)} other tokens of the prompt of {record.id}"
            why = "a model asked with another prompt than it learnt answers with one word or nothing"
            yield Finding("template", "fail", what, why, "use tokenizer and processor files published with the weights")
            return
    yield Finding("template", "ok", f"asked as it is learnt, e.g. {_short(batch.tensors['rendered'][0])!r}")


def _holding_the_image_token(subject: Subject) -> list[str]:
    token = subject.module.dialect.processor.image_token  # type: ignore[union-attr]
    return [r.id for r in subject.records() if any(token in words for words in (*_words(r), r.answer))]


def _words(record: Record) -> list[str]:
    return [p.text for m in record.messages for p in m.parts if p.type == "text"]


def _marks(dialect: Any, batch: Batch) -> str:
    """Return what the first prompt holds beside its record's words, its image and the token that begins a text."""
    rest = batch.tensors["rendered"][0]
    for words in (*_words(batch.records[0]), dialect.processor.image_token, dialect.tokenizer.bos_token or ""):
        rest = rest.replace(words.strip(), "")
    return str(rest.strip())


def _short(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:90]} ... {text[-60:]}"


def _ends(module: Any) -> set[int]:
    if module.model is not None:
        return set(end_tokens(module.network, module.dialect))
    raise LmodError("build the network before looking at labels")
