"""Computed effect of each optimisation of tuning for large models: tokens, FLOPs and logits of one step.

    python scripts/benchmarks/tuning_arithmetic.py [--tuned lora]

A step has 12 questions. A weight needs 2 FLOPs per token in the forward pass, 2 more if a gradient passes through its
layer, and 2 more if it is trained: 6 in full tuning, 4 in a frozen language model below adapters (without the adapters'
own weights, a few per cent), 2 in a frozen tower without backward pass. Attention needs 4 x width FLOPs per pair of
tokens and layer, and twice that in the backward pass. Pairs are counted as computed by the kernels: half of the square
for separate sequences (causal), the full square for a shared sequence with a dense mask, or only visible pairs with
FlexAttention. Padding, norms, softmax, attention inside towers, optimiser and recomputation are not counted.

Small models exaggerate two optimisations. Their vocabulary is a large part of the model, which it is not at 7B; there
only the memory remains, given in the last column (logits and their gradient in float32). And TRL 1.16 computes logits
only at supervised tokens if there is a GPU. At 7B the shared prefix remains. (SmolVLM is not a supported family and is
listed for its size; features of Qwen's tower are not stored on disk, as its trained projector is inside the tower.)
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace

QUESTIONS, QUESTION, ANSWER = 12, 50, 8  # tokens of a question and its template, and of an answer
BEFORE = 8  # tokens of the template around the image


@dataclass(frozen=True)
class Shape:
    """A model by the sizes of its matrices.

    Attributes:
        layers: Number of layers of the language model.
        width: Width of its hidden state.
        inner: Width of its gated multilayer perceptron.
        keys: Width of keys, and of values.
        vocabulary: Number of entries of its vocabulary.
        image: Number of tokens of an image in the language model.
        tower: Number of weights of the vision tower applied to a patch.
        patches: Number of patches per image in the tower.
        bridge: Number of weights of the projector applied to an image token.
        kept: Whether features of the tower can be stored on disk.
    """

    name: str
    layers: int
    width: int
    inner: int
    keys: int
    vocabulary: int
    image: int
    tower: float
    patches: int
    bridge: float
    kept: bool = True

    @property
    def weights(self) -> float:
        """Number of weights of the language model's layers applied to a token."""
        attention = 2 * self.width**2 + 2 * self.width * self.keys
        return float(self.layers * (attention + 3 * self.width * self.inner))


SHAPES = (
    Shape("LLaVA-1.5-7B, 576 image tokens", 32, 4096, 11008, 4096, 32064, 576, 303e6, 577, 4096 * (1024 + 4096)),
    Shape("Qwen2.5-VL-7B, 1,200", 28, 3584, 18944, 512, 152064, 1200, 632e6, 4800, 5120 * (5120 + 3584), False),
    Shape("SmolVLM-256M, 9 tiles, 576", 30, 576, 1536, 192, 49280, 576, 86e6, 9 * 1024, 12288 * 576),
)


@dataclass(frozen=True)
class Way:
    """Method of computing a step.

    Attributes:
        tower: Number of images that go through the tower.
        shared: Whether the questions about an image share a sequence.
        blocks: Whether attention skips masked blocks.
        everywhere: Whether logits are computed at every token.
    """

    tower: int = QUESTIONS
    shared: bool = False
    blocks: bool = True
    everywhere: bool = True


def ways(about_one: int, kept: bool) -> Iterator[tuple[str, Way]]:
    """Yield name and method with one more effective optimisation each, for `about_one` questions per image."""
    way = Way()
    yield "one question a sequence", way
    if about_one > 1:
        way = replace(way, tower=QUESTIONS // about_one)
        yield "+ tower once an image", way
        way = replace(way, shared=True, blocks=False)
        yield "+ prefix once, dense mask", way
        way = replace(way, blocks=True)
        yield "+ FlexAttention", way
    way = replace(way, everywhere=False)
    yield "+ vocabulary where it is learnt", way
    if kept:
        yield "+ tower from disk", replace(way, tower=0)


def tokens(shape: Shape, way: Way, about_one: int) -> tuple[int, float]:
    """Return the tokens of a step in the language model, and the pairs of tokens that attention computes."""
    prefix, own = BEFORE + shape.image, QUESTION + ANSWER
    if not way.shared:
        length = prefix + own
        return QUESTIONS * length, QUESTIONS * length**2 / 2
    length, sequences = prefix + about_one * own, QUESTIONS // about_one
    seen = prefix**2 / 2 + about_one * (own * prefix + own**2 / 2)
    return sequences * length, sequences * (seen if way.blocks else float(length**2))


def row(shape: Shape, way: Way, about_one: int, full: bool) -> dict[str, float]:
    """Return the columns of a row: tokens, FLOPs of each part in units of 1e12, logits in units of 1e9 bytes."""
    each = 6 if full else 4
    count, pairs = tokens(shape, way, about_one)
    scored = count if way.everywhere else QUESTIONS * ANSWER
    shown = way.tower or QUESTIONS // about_one  # the projector is trained and always computed
    parts = {
        "tower": 2 * shape.tower * way.tower * shape.patches + 6 * shape.bridge * shown * shape.image,
        "layers": each * shape.weights * count,
        "attention": 3 * 4 * shape.width * shape.layers * pairs,
        "vocabulary": each * shape.vocabulary * shape.width * scored,
    }
    made = {name: flops / 1e12 for name, flops in parts.items()}
    return {"tokens": count} | made | {"all": sum(made.values()), "logits": 2 * 4 * scored * shape.vocabulary / 1e9}


def print_table(full: bool = True) -> None:
    """Print the table for full tuning or for adapters."""
    print(
        f"\nBy arithmetic: a step of {QUESTIONS} questions of {QUESTION} tokens with answers of {ANSWER}, in TFLOP, ",
        end="",
    )
    print("all of the language model tuned\n" if full else "adapters on the language model\n")
    print("| model | questions an image | way | tokens | tower, projector | layers | attention | vocabulary ", end="")
    print("| all | times less | logits, GB |\n|---|---|---|---|---|---|---|---|---|---|---|")
    for shape in SHAPES:
        for about_one in (QUESTIONS, 1):
            plain = row(shape, Way(), about_one, full)["all"]
            for name, way in ways(about_one, shape.kept):
                made = row(shape, way, about_one, full)
                flops = " | ".join(
                    f"{made[part]:.2f}" for part in ("tower", "layers", "attention", "vocabulary", "all")
                )
                print(
                    f"| {shape.name} | {about_one} | {name} | {made['tokens']:,.0f} | {flops} "
                    f"| {plain / made['all']:.2f} | {made['logits']:.2f} |"
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tuned", choices=("full", "lora"), default="full")
    print_table(parser.parse_args().tuned == "full")
