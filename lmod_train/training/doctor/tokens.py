"""Checks of tokens and images as the model gets them: supervised labels, lengths, prompts, preprocessing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image

from lmod_train.core.errors import LmodError
from lmod_train.core.types import Record
from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.checkpoint import find, processor_of
from lmod_train.models.chat.decoding import end_tokens
from lmod_train.training.doctor.check_result import CheckResult, problem
from lmod_train.training.doctor.subject import Subject

WARN_SHARE, FAIL_SHARE = 0.001, 0.1
"""Shares of records or answers that are too long: above the first a warning, above the second a failure."""

ONE_TOKEN = 0.3
"""Share of all supervised tokens above which a single token is reported."""

SHOWN = 3
"""Number of targets that are printed."""

COMPARED = 4
"""Number of prompts that are compared with those of transformers."""


def labels(subject: Subject) -> Iterator[CheckResult]:
    """Check that the answers of some records end with a stop token, and that all records are short enough."""
    module, batch = subject.module, subject.drawn
    answers, count, images = batch.answer_ids, len(subject.records()), _added(module.dialect, batch)
    largest, smallest, limit = max(images), min(images), module.max_tokens
    long = list(_long(subject, batch, largest))
    lost, surely = ([r.id for r, n in long if n + image * len(r.image) > limit] for image in (largest, smallest))
    if len(lost) > WARN_SHARE * count:
        number = str(len(lost)) if lost == surely else f"{len(surely)}, or {len(lost)} with large images,"
        what = f"{number} of {count} records are longer than {limit} tokens, e.g. {lost[0]}"
        yield problem("labels.long", len(surely) > FAIL_SHARE * count, what)
    ends = _ends(module)
    open_ended = [r.id for r, a in zip(batch.records, answers, strict=True) if not a or a[-1] not in ends]
    if open_ended:
        what = f"{len(open_ended)} of {len(batch)} answers do not end with a token that stops a reply ({sorted(ends)})"
        yield problem("labels.open_ended", "fail", what)
    if ordinary := sorted(ends - set(module.dialect.tokenizer.added_tokens_decoder)):
        words = [module.dialect.tokenizer.decode([token]) for token in ordinary]
        yield problem("labels.ends", "warn", f"replies also end at {words}, which is an ordinary token")
    yield from _shown(module, batch, ends)


def replies(subject: Subject) -> Iterator[CheckResult]:
    """Check that the reference answers fit into `max_new_tokens`; a reply that is cut off would be scored as wrong.

    A token is at least one byte, so that only answers with more bytes than the limit are tokenised.
    """
    limit, tokenizer = subject.module.max_new_tokens, subject.module.dialect.tokenizer
    counted = Counter(r.taught.strip() for r in [*subject.records(), *subject.asked()])
    doubtful = [answer for answer in counted if len(answer.encode()) > limit]
    lengths = {answer: len(tokenizer(answer, add_special_tokens=False).input_ids) for answer in doubtful}
    cut = sum(counted[answer] for answer, n in lengths.items() if n > limit)
    if cut > WARN_SHARE * counted.total():
        longest = max(lengths.values())
        what = f"{cut} of {counted.total()} answers have more tokens than max_new_tokens={limit}, up to {longest}"
        yield problem("replies.cut", cut > FAIL_SHARE * counted.total(), what, tokens=longest + 1)
    else:
        yield CheckResult("replies", "ok", f"{counted.total()} answers, each within max_new_tokens={limit}")


def _long(subject: Subject, batch: ChatBatch, image: int) -> Iterator[tuple[Record, int]]:
    """Yield the records that may be too long if an image adds `image` tokens, with their count of other tokens.

    A token is at least one byte, so that only records with more bytes than the limit are tokenised.
    """
    module = subject.module
    dialect, limit = module.dialect, module.max_tokens
    around = len(batch.rendered[0].encode()) - sum(len(w.strip().encode()) for w in _words(batch.records[0]))
    for record in subject.records():
        words = sum(len(text.encode()) for text in (*_words(record), record.taught, dialect.end))
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
        yield problem("labels.one_token", "warn", what)


def template(subject: Subject) -> Iterator[CheckResult]:
    """Check that the prompt of training contains the record's words and equals the prompt that transformers makes."""
    if held := _holding_the_image_token(subject):
        what = f"{len(held)} records contain the model's image token in their text, e.g. {held[0]}"
        yield problem("template.image_token", "fail", what)
        return
    module, batch = subject.module, subject.drawn
    for record, rendered in zip(batch.records, batch.rendered, strict=True):
        if missing := [w for w in _words(record) if w.strip() not in rendered]:
            what = f"the prompt of {record.id} lacks words of its record, e.g. {missing[0][:80]!r}"
            yield problem("template.lacks_words", "fail", what)
            return
    yield from _replaced(subject)
    if not _marks(module.dialect, batch):
        yield problem("template.no_marks", "warn", "the prompt has no role markers (such as USER:)")
    for record, learnt in list(zip(batch.records, batch.prompt_ids, strict=True))[:COMPARED]:
        plain = module.dialect.plain_prompt(record, subject.data.images)
        if plain != learnt:
            what = f"transformers tokenises the prompt of {record.id} differently ({len(plain)} tokens)"
            yield problem("template.tokenised", "fail", what)
            return
    prompt = _short(batch.rendered[0])
    yield CheckResult("template", "ok", f"training and evaluation use the same prompt, e.g. {prompt!r}")


def _replaced(subject: Subject) -> Iterator[CheckResult]:
    """Yield a warning where the option `prompt.template` replaces another template of the checkpoint."""
    prompting = subject.module.dialect.prompting
    if not (given := prompting.template_text()):
        return
    own = getattr(processor_of(find(subject.checkpoint)), "chat_template", None)
    if own and own.strip() != given.strip():
        what = f"prompt.template={prompting.template} replaces the checkpoint's own chat template"
        yield problem("template.replaced", "warn", what)


def _holding_the_image_token(subject: Subject) -> list[str]:
    token = subject.module.dialect.processor.image_token
    return [r.id for r in subject.records() if any(token in words for words in (*_words(r), r.taught))]


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


# Check of the pixels that the vision tower gets, against the image processor's own mean and std.
LOOKED_AT = 8
"""Number of images whose pixels are measured, drawn evenly over the records."""

LEAST_STD = 0.05
"""Least std of a card in units of 0 to 1: those of CLIP, SigLIP, ImageNet and of fundus photographs are 0.1 to 0.5."""

OUTSIDE = 0.5
"""Distance of pixels from the range of the card that resampling may explain, in its stds."""

FLAT = 0.25
"""Share of the pictures' own range below which the tower gets nearly one grey value; resampling takes less of it."""

DARK = -0.3
"""Value of black below which pixels that are never below 0 were not normalised."""

MOST_CROPPED = 0.1
"""Share of the pictures' area that may be cropped without a warning."""


def preprocessing(subject: Subject) -> Iterator[CheckResult]:
    """Process some training images, and compare their range and spread with those that mean and std allow."""
    shown = [r for r in subject.records() if r.image]
    dialect, images_of = subject.module.dialect, subject.data.images
    names = list(dict.fromkeys(r.image[0] for r in shown[:: len(shown) // LOOKED_AT + 1]))
    pictures = [images_of.rgb(name) for name in names]
    images = dialect.processor.image_processor
    mean, std = (
        _three(getattr(images, name, None), default) for name, default in (("image_mean", 0), ("image_std", 1))
    )
    problems = list(_card(mean, std))
    if not problems:
        made = [dialect.family.processed(p, dialect.processor, False)["pixel_values"] for p in pictures]
        values = torch.cat([torch.as_tensor(np.asarray(m)).float().flatten() for m in made])
        problems += _pixels(values, [dialect.shaped(p) for p in pictures], mean, std)
    problems += _cropped(subject, pictures, shown)
    yield from problems
    if not problems:
        what = f"pixels from {values.min():.2f} to {values.max():.2f}, mean {values.mean():.2f}, std {values.std():.2f}"
        yield CheckResult("preprocessing", "ok", f"{what}, as the processor's mean and std let expect")


def _three(given: Any, default: float) -> np.ndarray[Any, Any]:
    """Return a processor's values of the three channels; it may state one, or none."""
    values = np.atleast_1d(np.asarray(default if given is None else given, dtype=float))
    return np.broadcast_to(values, 3)


def _card(mean: np.ndarray[Any, Any], std: np.ndarray[Any, Any]) -> Iterator[CheckResult]:
    if (mean < 0).any() or (mean > 1).any() or (std < LEAST_STD).any() or (std > 1).any():
        what = f"image_mean {mean.tolist()}, image_std {std.tolist()}: pixels are between 0 and 1 when these apply"
        yield problem("preprocessing.card", "fail", what)


def _pixels(
    values: torch.Tensor, pictures: Sequence[Image.Image], mean: np.ndarray[Any, Any], std: np.ndarray[Any, Any]
) -> Iterator[CheckResult]:
    """Yield a result for pixels outside the range of the card, of hardly any range, or that are not centred.

    Args:
        values: Pixels after the image processor.
        pictures: The pictures before it.
        mean: Of the card, by channel.
        std: Of the card, by channel.
    """
    low, high = (-mean / std).min(), ((1 - mean) / std).max()
    raw = np.concatenate([(np.asarray(p.resize((32, 32)), dtype=float) / 255).reshape(-1, 3) for p in pictures])
    expected = (raw - mean) / std
    span = float(values.max() - values.min())
    found = f"pixels from {values.min():.3g} to {values.max():.3g}, mean {values.mean():.3g}, std {values.std():.2g}"
    card = f"mean and std of the processor allow {low:.2f} to {high:.2f}, and these images mean {expected.mean():.2f}"
    if values.min() > -1e-3 and FLAT < values.max() <= 1.001 and expected.min() < DARK:
        yield problem("preprocessing.pixels", "warn", f"{found}: not normalised; {card}")
    elif values.min() < low - OUTSIDE or values.max() > high + OUTSIDE or span < FLAT * np.ptp(expected):
        yield problem("preprocessing.pixels", "fail", f"{found}; {card}")


def _cropped(subject: Subject, pictures: Sequence[Image.Image], shown: Sequence[Record]) -> Iterator[CheckResult]:
    """Yield a warning where pictures lose a part that regions may lie in."""
    if subject.module.dialect.family.fit != "crop":
        return
    lost = sum(1 - min(p.size) / max(p.size) for p in pictures) / len(pictures)
    if lost > MOST_CROPPED:
        marked = sum(bool(r.regions) for r in shown)
        what = f"images.fit crop cuts {lost:.0%} off the pictures; {marked} of {len(shown)} records ask about regions"
        yield problem("preprocessing.cropped", "warn", what)
