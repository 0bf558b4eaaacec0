"""Checks of tokens: supervised labels and their end, length of replies, and the prompt of training and evaluation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from lmod_train.core.errors import LmodError
from lmod_train.core.types import Record
from lmod_train.models.chat.batch import ChatBatch
from lmod_train.models.chat.checkpoint import find
from lmod_train.models.chat.checkpoint_files import processor_of
from lmod_train.models.chat.generation import end_tokens
from lmod_train.training.doctor.check_result import CheckResult, Level
from lmod_train.training.doctor.subject import Subject

WARN_SHARE, FAIL_SHARE = 0.001, 0.1
"""Shares of records or answers that are too long: above the first a warning, above the second a failure."""
ONE_TOKEN = 0.3
"""Share of all supervised tokens above which a single token is reported."""
SHOWN = 3
"""Number of targets that are printed."""
WRONG_PROMPT = "a model evaluated with another prompt than it was trained with answers with one word or nothing"
"""Consequence of a prompt that differs between training and evaluation."""
COMPARED = 4
"""Number of prompts that are compared with those of transformers."""


def labels(subject: Subject) -> Iterator[CheckResult]:
    """Check that the answers of some records end with a stop token, and that all records are short enough."""
    if (batch := subject.drawn) is None:
        yield CheckResult("labels", "skip", "no module or no records to tokenise")
        return
    module: Any = subject.module
    answers, count, images = batch.answer_ids, len(subject.records()), _added(module.dialect, batch)
    largest, smallest, limit = max(images), min(images), module.max_tokens
    long = list(_long(subject, batch, largest))
    lost, surely = ([r.id for r, n in long if n + image * len(r.image) > limit] for image in (largest, smallest))
    if len(lost) > WARN_SHARE * count:
        number = str(len(lost)) if lost == surely else f"{len(surely)}, or {len(lost)} with large images,"
        what = f"{number} of {count} records are longer than {limit} tokens, e.g. {lost[0]}"
        why = "training drops and lists them: the model learns nothing from them"
        level: Level = "fail" if len(surely) > FAIL_SHARE * count else "warn"
        yield CheckResult(
            "labels", level, what, why, "raise model.init_args.max_tokens, or shorten prompts (data.tasks)"
        )
    ends = _ends(module)
    open_ended = [r.id for r, a in zip(batch.records, answers, strict=True) if not a or a[-1] not in ends]
    if open_ended:
        what = f"{len(open_ended)} of {len(batch)} answers do not end with a token that stops a reply ({sorted(ends)})"
        why = "the model does not learn to stop, and its replies run to the token limit"
        yield CheckResult("labels", "fail", what, why, "use the tokenizer and chat template published with the weights")
    if ordinary := sorted(ends - set(module.dialect.tokenizer.added_tokens_decoder)):
        words = [module.dialect.tokenizer.decode([token]) for token in ordinary]
        what = f"replies also end at {words}, which is an ordinary token"
        why = "a reply that contains it is cut off, though training teaches it"
        cure = "use the generation_config.json published with the weights (eos_token_id)"
        yield CheckResult("labels", "warn", what, why, cure)
    yield from _shown(module, batch, ends)


def replies(subject: Subject) -> Iterator[CheckResult]:
    """Check that the reference answers fit into `max_new_tokens`; a reply that is cut off would be scored as wrong.

    A token is at least one byte, so that only answers with more bytes than the limit are tokenised.
    """
    if subject.module is None or not subject.records():
        yield CheckResult("replies", "skip", "no module or no records to tokenise")
        return
    limit, tokenizer = subject.module.max_new_tokens, subject.module.dialect.tokenizer
    counted = Counter(r.answer.strip() for r in [*subject.records(), *subject.asked()])
    doubtful = [answer for answer in counted if len(answer.encode()) > limit]
    lengths = {answer: len(tokenizer(answer, add_special_tokens=False).input_ids) for answer in doubtful}
    cut = sum(counted[answer] for answer, n in lengths.items() if n > limit)
    if cut > WARN_SHARE * counted.total():
        longest = max(lengths.values())
        what = f"{cut} of {counted.total()} answers have more tokens than max_new_tokens={limit}, up to {longest}"
        level: Level = "fail" if cut > FAIL_SHARE * counted.total() else "warn"
        why = "replies are cut off at this length, so that even a model that learnt these answers scores them as wrong"
        cure = f"set model.init_args.max_new_tokens to {longest + 1} or more"
        yield CheckResult("replies", level, what, why, cure)
    else:
        yield CheckResult("replies", "ok", f"{counted.total()} answers, each within max_new_tokens={limit}")


def _long(subject: Subject, batch: ChatBatch, image: int) -> Iterator[tuple[Record, int]]:
    """Yield the records that may be too long if an image adds `image` tokens, with their count of other tokens.

    A token is at least one byte, so that only records with more bytes than the limit are tokenised.
    """
    module: Any = subject.module
    dialect, limit = module.dialect, module.max_tokens
    around = len(batch.rendered[0].encode()) - sum(len(w.strip().encode()) for w in _words(batch.records[0]))
    for record in subject.records():
        words = sum(len(text.encode()) for text in (*_words(record), record.answer, dialect.end))
        if words + around * len(record.messages) + image * len(record.image) > limit:
            yield record, sum(map(len, dialect.encode(*dialect.render(record))))


def _added(dialect: Any, batch: ChatBatch) -> set[int]:
    """Return the numbers of tokens that an image of a batch adds to its placeholder; {0} without images.

    Of a record with several images it is their mean, rounded up.
    """
    added = set()
    for record, text, ids in zip(batch.records, batch.rendered, batch.prompt_ids, strict=True):
        if record.image:
            added.add(math.ceil((len(ids) - len(dialect.encode(text, "")[0])) / len(record.image)))
    return added or {0}


def _shown(module: Any, batch: ChatBatch, ends: set[int]) -> Iterator[CheckResult]:
    """Yield some targets in decoded form, and a warning where one token is a large share of the supervised tokens."""
    answers, decode = batch.answer_ids, module.dialect.tokenizer.decode
    counted = Counter(token for answer in answers for token in answer)
    token, most = next(((t, n) for t, n in counted.most_common() if t not in ends), (0, 0))
    shown = "\n".join(f"{r.id} -> {decode(a)!r}" for r, a in list(zip(batch.records, answers, strict=True))[:SHOWN])
    share = sum(n for t, n in counted.items() if t in ends) / max(counted.total(), 1)
    summary = f"{counted.total()} supervised tokens of {len(batch)} records, {share:.0%} of them end tokens"
    yield CheckResult("labels", "ok", f"{summary}; targets, e.g.:\n{shown}")
    if most > ONE_TOKEN * counted.total():
        what = f"{decode([token])!r} is {most / counted.total():.0%} of the supervised tokens"
        why = "a model that fails to learn repeats the most frequent token"
        yield CheckResult("labels", "warn", what, why, "compare the answers of the records")


def template(subject: Subject) -> Iterator[CheckResult]:
    """Check that the prompt of training contains the record's words and equals the prompt that transformers makes."""
    if subject.module is not None and (held := _holding_the_image_token(subject)):
        what = f"{len(held)} records contain the model's image token in their text, e.g. {held[0]}"
        why = "the model would expect an image at this place, and the run would stop at this record"
        yield CheckResult("template", "fail", what, why, "remove these records, or their task from data.tasks")
        return
    if (batch := subject.drawn) is None:
        yield CheckResult("template", "skip", "no module or no records to render")
        return
    module: Any = subject.module
    for record, rendered in zip(batch.records, batch.rendered, strict=True):
        if missing := [w for w in _words(record) if w.strip() not in rendered]:
            what = f"the prompt of {record.id} lacks words of its record, e.g. {missing[0][:80]!r}"
            why = "the model would get another question than the record holds"
            yield CheckResult("template", "fail", what, why, "use the chat template published with the weights")
            return
    yield from _replaced(subject)
    if not _marks(module.dialect, batch):
        why = "an instruction-tuned model was trained with role markers, and has never seen a prompt without them"
        cure = "use the chat_template.jinja published with the weights"
        yield CheckResult("template", "warn", "the prompt has no role markers (such as USER:)", why, cure)
    for record, learnt in list(zip(batch.records, batch.prompt_ids, strict=True))[:COMPARED]:
        plain = module.dialect.plain_prompt(record, subject.data.images)  # type: ignore[union-attr]
        if plain != learnt:
            what = f"transformers tokenises the prompt of {record.id} differently ({len(plain)} tokens)"
            why = WRONG_PROMPT
            yield CheckResult(
                "template", "fail", what, why, "use tokenizer and processor files published with the weights"
            )
            return
    prompt = _short(batch.rendered[0])
    yield CheckResult("template", "ok", f"training and evaluation use the same prompt, e.g. {prompt!r}")


def _replaced(subject: Subject) -> Iterator[CheckResult]:
    """Yield a warning where the option `prompt.template` replaces another template of the checkpoint."""
    prompting = subject.module.dialect.prompting  # type: ignore[union-attr]
    if not (given := prompting.template_text()):
        return
    own = getattr(processor_of(find(subject.checkpoint)), "chat_template", None)
    if own and own.strip() != given.strip():
        what = f"prompt.template={prompting.template} replaces the checkpoint's own chat template"
        why = "a tuned model was trained with its own; with another it must learn the form of the prompt again"
        cure = "leave out model.init_args.prompt.template, unless the model's authors used this one"
        yield CheckResult("template", "warn", what, why, cure)


def _holding_the_image_token(subject: Subject) -> list[str]:
    token = subject.module.dialect.processor.image_token  # type: ignore[union-attr]
    return [r.id for r in subject.records() if any(token in words for words in (*_words(r), r.answer))]


def _words(record: Record) -> list[str]:
    return [p.text for m in record.messages for p in m.parts if p.type == "text"]


def _marks(dialect: Any, batch: ChatBatch) -> str:
    """Return what the template adds to the first prompt: all but its record's words, image token and BOS token."""
    rest = batch.rendered[0]
    for words in (*_words(batch.records[0]), dialect.processor.image_token, dialect.tokenizer.bos_token or ""):
        rest = rest.replace(words.strip(), "")
    return str(rest.strip())


def _short(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:90]} ... {text[-60:]}"


def _ends(module: Any) -> set[int]:
    if module.model is not None:
        return set(end_tokens(module.network, module.dialect))
    raise LmodError("the labels cannot be checked before the network is built.\nNext: fix what `load_report` names")
