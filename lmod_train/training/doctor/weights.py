"""Checks of the weights: complete, trained, no delta, of this vocabulary, and a vision tower that sees."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lmod_train.core.errors import LmodError
from lmod_train.core.types import Record, Unparsed
from lmod_train.core.weight_values import checkpoint_json
from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.checkpoint import find
from lmod_train.models.chat.checkpoint_files import layout_name
from lmod_train.models.chat.delta import SENTENCES, DeltaSigns, described, mean_gain, named_delta, next_token_entropy
from lmod_train.models.chat.encoding import encode
from lmod_train.models.chat.family import family_of
from lmod_train.tasks.base import Task
from lmod_train.training.callbacks.tripwires import with_images_of
from lmod_train.training.doctor.check_result import CheckResult, Level, problem
from lmod_train.training.doctor.reply_checks import prompt_text
from lmod_train.training.doctor.subject import Subject

EDGE = 1.08
"""Largest singular value of a matrix over that of random values of its size, std x (sqrt(rows) + sqrt(columns)), below
which it was not trained. Measured on the small base and on random values in its place: 1.13 to 3 and 0.97 to 1.00."""

LEAST_SIDE, MOST_ROWS = 64, 2048
"""Sides of the matrices that are measured: below the first chance decides, above the second these rows are enough."""

IN_BLOCK = 3
"""Number of matrices of a block (queries, keys, values) that are measured; all must look random."""

NEW_RATE = 1e-4
"""Learning rate below which a new projector stays new; LLaVA trains it at 1e-3, LLaVA-Med at 2e-3."""

OUT_OF_ORDER = 0.92
"""Loss on words in their order over the loss on them shuffled, from which their order says nothing to a model. Small
base: 0.08 on questions, 0.85 on sentences of another kind; with permuted rows or layers 0.95 to 1.02."""

QUESTIONS = 6
"""Number of questions of each language, one of a task, whose words are predicted."""


def delta(subject: Subject) -> Iterator[CheckResult]:
    """Check the checkpoint's name and the gains of its language model's norms for signs of a delta."""
    named = named_delta(subject.checkpoint)
    try:
        gain = mean_gain(_folder(subject.checkpoint))
    except LmodError as error:  # absent or in an unreadable layout: `load_report` gives the details
        if not named:
            yield CheckResult("delta", "skip", str(error).partition("\n")[0])
            return
        gain = None
    yield _delta_result(subject, DeltaSigns(named, gain))


def _folder(checkpoint: str) -> Path:
    """Return the folder of a checkpoint, also in the layout of its own code, in which deltas are published."""
    config = Path(checkpoint) / "config.json"
    if config.is_file() and layout_name(checkpoint_json(config)):
        return config.parent
    return find(checkpoint)


def _delta_result(subject: Subject, signs: DeltaSigns) -> CheckResult:
    evidence = "; ".join(described(signs)) or "no sign of a delta"
    if signs.is_delta:
        what = f"{subject.checkpoint}: delta weights: {evidence}"
        return problem("delta.weights", "fail", what, checkpoint=subject.checkpoint)
    if signs.named:
        return problem("delta.name", "warn", f"{subject.checkpoint}: {evidence}")
    return CheckResult("delta", "ok", evidence)


def load_report(subject: Subject) -> Iterator[CheckResult]:
    """Build the network, and check that the files and the architecture have the same tensors."""
    subject.module.configure_model()  # raises on tensors that are missing, unexpected or of another shape
    network = subject.module.network
    total = network.num_parameters()
    what = f"{type(network).__name__}, {total:,} parameters, no tensors missing or unexpected"
    yield CheckResult("load_report", "ok", what)


def entropy(subject: Subject) -> Iterator[CheckResult]:
    """Check the entropy of the language model's next token after two plain sentences; a delta predicts about evenly."""
    subject.module.eval()
    share = next_token_entropy(subject.module.network, subject.module.dialect.tokenizer)
    yield _delta_result(subject, DeltaSigns(False, None, share))


def untrained(subject: Subject) -> Iterator[CheckResult]:
    """Check by their singular values that projector and blocks of tower and language model are no random values."""
    module = subject.module
    measured = spectra(module.network)
    random = {part: [b for b, edge in blocks.items() if edge < EDGE] for part, blocks in measured.items()}
    rate = module.optimisation.projector_lr
    for part, found in random.items():
        if found and not (part == "projector" and rate >= NEW_RATE):
            level: Level = "warn" if part == "projector" or (module.tune_tower and part == "tower") else "fail"
            what = f"{len(found)} of {len(measured[part])} {part} blocks have random values, e.g. {found[0]}"
            yield problem("untrained.random", level, what, rate=rate)
    if not any(random.values()):
        least = min((edge for blocks in measured.values() for edge in blocks.values()), default=math.inf)
        yield CheckResult("untrained", "ok", f"no block has random values (least {least:.2f}, random 1.00)")
    elif random.get("projector") and rate >= NEW_RATE:
        yield CheckResult("untrained", "ok", f"the projector has random values, and learns at {rate:g}")


@torch.no_grad()
def spectra(network: Any) -> dict[str, dict[str, float]]:
    """Return part -> block -> largest ratio of its first matrices to the edge of random values, see `EDGE`.

    A block is a layer of tower or language model, or a matrix of the projector.
    """
    family, blocks = family_of(network), defaultdict[tuple[str, str], list[str]](list)
    for name, parameter in network.named_parameters():
        layer = re.search(r"\.(?:layers|blocks|layer)\.\d+\.", name)
        part = family.part(name)
        key = part, name if part == "projector" else name[: layer.end() - 1] if layer else ""
        shape: torch.Size = getattr(parameter, "quant_state", parameter).shape  # 4-bit values are packed
        measurable = len(shape) > 1 and min(shape[0], shape[1:].numel()) >= LEAST_SIDE
        if measurable and key[1] and "lora_" not in name and len(blocks[key]) < IN_BLOCK:
            blocks[key].append(name)
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for (owner, block), names in blocks.items():
        found[owner][block] = max(over_the_edge(_matrix(network, name)) for name in names)
    return found


def _matrix(network: Any, name: str) -> Tensor:
    """Return a parameter, dequantised, and with the largest singular values that PiSSA has taken out of it."""
    from peft.utils.integrations import dequantize_module_weight

    path, _, kind = name.rpartition(".")
    part = network.get_submodule(path)
    values: Tensor = dequantize_module_weight(part) if kind == "weight" else getattr(part, kind)
    adapted = path.removesuffix(".base_layer")
    return values if adapted == path else values + network.get_submodule(adapted).get_delta_weight("default")


def over_the_edge(matrix: Tensor, rounds: int = 8) -> float:
    """Return the largest singular value of a matrix over that of random values of its size, about 1 if it is random.

    Example:
        >>> values = torch.randn(200, 100, generator=torch.Generator().manual_seed(0))
        >>> round(over_the_edge(values)), over_the_edge(values + 1) > 3
        (1, True)
    """
    values = matrix.detach().flatten(1)[:MOST_ROWS].float()
    vector = torch.ones(values.shape[1], device=values.device)
    for _ in range(rounds):  # power iteration
        vector = values.T @ (values @ vector)
        vector = vector / vector.norm().clamp_min(1e-30)
    edge = values.square().mean().sqrt() * sum(math.sqrt(side) for side in values.shape)
    return float((values @ vector).norm() / edge.clamp_min(1e-30))


def vocabulary(subject: Subject) -> Iterator[CheckResult]:
    """Check that the language model predicts words better in their order than shuffled: it knows this tokenizer.

    Words are those of some questions of each language and of two plain sentences, without images. It warns only if the
    model does so for none of these, and worse than by guessing evenly; a small model of other texts may be meant.
    """
    module = subject.module
    module.eval()
    asked: dict[str, dict[str, str]] = defaultdict(dict)
    for record in subject.records():
        asked[record.language].setdefault(record.task, prompt_text(record))
    texts = [list(questions.values())[:QUESTIONS] for questions in asked.values()]
    losses = [_in_and_out_of_order(module, some) for some in (*texts, SENTENCES)]
    even = math.log(module.network.config.get_text_config().vocab_size)
    ordered, best = min(own for own, _ in losses) / even, min(own / max(other, 1e-9) for own, other in losses)
    what = f"words in their order cost {best:.0%} of the loss on shuffled ones, {ordered:.2f} of ln(vocabulary)"
    if best > OUT_OF_ORDER and ordered > 1:
        yield problem("vocabulary.vocabulary", "warn", what)
    else:
        yield CheckResult("vocabulary", "ok", what)


@torch.no_grad()
def _in_and_out_of_order(module: Any, texts: Sequence[str]) -> tuple[float, float]:
    """Return the mean loss in nats on the tokens of some texts, and on the same tokens shuffled; the first stays."""
    losses: list[tuple[float, float]] = []
    for text in texts:
        ids = module.dialect.tokenizer(text).input_ids
        order = torch.randperm(len(ids) - 1, generator=torch.Generator().manual_seed(0)) + 1
        pair = torch.tensor([ids, [ids[0], *(ids[i] for i in order)]], device=module.network.device)
        logits = module.network(input_ids=pair).logits[:, :-1].float()
        each = torch.nn.functional.cross_entropy(logits.flatten(0, 1), pair[:, 1:].flatten(), reduction="none")
        own, other = each.view(2, -1).mean(1).tolist()
        losses.append((own, other))
    own, other = (sum(column) / len(losses) for column in zip(*losses, strict=True))
    return own, other


# Checks of the reference answers as replies: read by the task's own parser, and not cut off by a stop word.
FAIL_SHARE = 0.1
"""Share of a task's reference answers that cannot be read or are cut off, from which the check fails."""


def references(subject: Subject) -> Iterator[CheckResult]:
    """Parse every reference answer of the training and of val and test by its task, and compare it with the truth."""
    tasks, everything = subject.data.tasks, [*subject.records(), *subject.asked()]
    own = [r for r in everything if r.task in tasks]
    model: Mapping[str, Any] = (subject.config.get("model") or {}).get("init_args") or {}
    prompt: Mapping[str, Any] = model.get("prompt") or {}
    problems = [
        *_unread(tasks, own),
        *_cut_off(prompt.get("stop") or (), everything),
        *_named(prompt.get("system_prompt") or "", own),
    ]
    yield from problems
    if not problems:
        yield CheckResult("references", "ok", f"{len(own)} reference answers, each read by its task's parser")


def misread(task: Task, record: Record) -> str:
    """Return why the parser of a task does not give back the truth of a record's reference answer; "" if it does.

    The truth is the word among the record's choices, or the structure of each of its regions.
    """
    try:
        answer = task.truth(record)
    except Exception as error:  # a task may come from outside this package
        return f"{type(error).__name__}: {error}"
    if isinstance(answer, Unparsed):
        return f"unparsed ({answer.reason})"
    if isinstance(answer, Mapping) and record.regions:
        truth = {region.id: region.structure for region in record.regions}
        return "" if set(answer) == set(truth) else f"read as regions {sorted(answer)} of {sorted(truth)}"
    if isinstance(answer, str) and record.choices and answer not in (*record.choices, *task.choices):
        return f"read as {answer[:60]!r}, which is none of its choices"
    return ""


def _unread(tasks: Mapping[str, Task], asked: Sequence[Record]) -> Iterator[CheckResult]:
    known: dict[Hashable, str] = {}
    found: dict[str, list[tuple[Record, str]]] = defaultdict(list)
    for record in asked:
        regions = tuple((region.id, region.structure) for region in record.regions)
        key = record.task, record.language, record.answer, record.choices, regions, record.variant
        if key not in known:
            known[key] = misread(tasks[record.task], record)
        if known[key]:
            found[record.task].append((record, known[key]))
    counted = Counter(r.task for r in asked)
    for task, wrong in found.items():
        (first, reason), number = wrong[0], counted[task]
        what = f"{task}: {len(wrong)} of {number} reference answers are not read by the task's own parser, "
        what += f"e.g. {first.id}: {first.answer[:60]!r} {reason}"
        yield problem("references.unread", _level(len(wrong), number), what)


def _level(wrong: int, of: int) -> Level:
    return "fail" if wrong >= FAIL_SHARE * of else "warn"


def _cut_off(stop: Sequence[str], learnt: Sequence[Record]) -> Iterator[CheckResult]:
    cut = [r for r in learnt if any(word in r.answer.strip() for word in stop)]
    if cut:
        what = f"{len(cut)} of {len(learnt)} reference answers contain a stop word ({list(stop)}), e.g. {cut[0].id}"
        yield problem("references.stop_words", _level(len(cut), len(learnt)), what)


def _named(system: str, asked: Sequence[Record]) -> Iterator[CheckResult]:
    """Yield a warning where the system text names some choices of a task and leaves out others."""
    listed = {(r.task, r.choices) for r in asked if len(r.choices) > 1}
    words = [w.strip(".,:;!?()'\"") for w in system.split()]
    for task, choices in sorted(listed):
        said = [c for c in choices if c in system and (" " in c or c in words)]
        if said and len(said) < len(choices):
            what = f"the system text names {', '.join(said)} of the {len(choices)} answers of {task}"
            yield problem("references.named", "warn", what)
            return


# Checks of the image path: number of image embeddings, finite features, and the effect of the image on the logits.
BLIND = 1e-4
"""Relative change of the next-token logits below which an image has no effect; real images change them by over 1e-2."""


def contract(subject: Subject) -> Iterator[CheckResult]:
    """Encode two images, and check that the features are finite and as many as the prompt has image tokens."""
    module, pair = subject.module, subject.pair
    batch = ChatBatch.of(module.collate(pair, subject.data.images))
    with torch.no_grad():
        encoded = encode(module.network, batch.images)
    token = family_of(module.network).image_token_id
    places = [prompt.count(token) for prompt in batch.prompt_ids]
    made = [sum(encoded.tokens[i] for i in own) for own in batch.images_of]
    vision = module.network.config.vision_config
    setup = ", ".join(f"{k} {getattr(vision, k)}" for k in ("image_size", "patch_size") if hasattr(vision, k))
    layer = getattr(module.network.config, "vision_feature_layer", None)
    setup += "" if layer is None else f", features of layer {layer}"
    if made != places:
        what = f"{made} image embeddings for {places} image tokens in the prompt ({setup})"
        yield problem("vision.places", "fail", what)
    elif not all(bool(torch.isfinite(f).all()) for f in encoded.features):
        yield problem("vision.not_finite", "fail", f"image features are not finite ({setup})")
    else:
        yield CheckResult("vision", "ok", f"{encoded.tokens[0]} embeddings per image, {setup}")


def sensitivity(subject: Subject) -> Iterator[CheckResult]:
    """Replace the image of a question by another one, and check that the next-token logits change."""
    pair = subject.pair
    own, other = _logits(subject, [pair[0], with_images_of(pair[0], pair[1])])
    change = ((own - other).norm() / own.norm().clamp_min(1e-12)).item()
    if not math.isfinite(change):
        yield problem("sensitivity.not_finite", "fail", "the next-token logits are not finite")
    elif change < BLIND and subject.alike(*pair):
        what = f"the images of {pair[0].id} and {pair[1].id} have the same pixels, and no differing pair was found"
        yield problem("sensitivity.same_pixels", "fail", what)
    elif change < BLIND:
        what = f"another image changes the next-token logits by only {change:.1e} of their norm"
        yield problem("sensitivity.no_change", "fail", what)
    else:
        yield CheckResult(
            "sensitivity", "ok", f"another image changes the next-token logits by {change:.1%} of their norm"
        )


def _logits(subject: Subject, asked: Sequence[Record]) -> list[Tensor]:
    """Return the next-token logits after each prompt, each of shape (vocabulary,)."""
    module = subject.module
    module.eval()
    logits = []
    with torch.no_grad():
        for record in asked:
            batch = ChatBatch.of(module.collate([record], subject.data.images))
            ids = torch.tensor(batch.prompt_ids, device=module.network.device)
            given = encode(module.network, batch.images).inputs(ids, batch.images_of[0])
            logits.append(module.network(input_ids=ids, logits_to_keep=1, **given).logits[0, -1].float())
    return logits
