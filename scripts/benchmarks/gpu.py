"""Memory and speed of 7B models of every family on a GPU, with random weights of the real sizes; needs no download.

    python scripts/benchmarks/gpu.py --families llava qwen2_5_vl
    python scripts/benchmarks/gpu.py --small --device cpu

For each family, in bfloat16 (--small: in float32):

(a) replies to 12 questions about each image: ours, the questions of several images in one batch, against `generate` of
    transformers, the 12 questions of an image in one padded batch; with replies of --tokens tokens;
(b) one training sequence of 12 questions and answers about one image, forward and backward: FlexAttention against a
    dense mask (sdpa);
(c) one step of `llava_med_ft` (LoRA of rank 128, gradient checkpointing) and one of full tuning, on --train questions.

`memory` is the peak of allocated GPU memory in GiB, weights included; empty on a CPU. The first run of each is not
counted. `equal` is the number of replies with the same tokens on both sides: with random weights the likeliest tokens
are nearly equal, and rounding in bfloat16 changes most replies of 64 tokens. What does not fit the device is reported
as such; FlexAttention is left out where the class in transformers has none (Qwen2.5-VL). --small has the same numbers
of tokens and layers of 64 values.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForImageTextToText

from lmod_train.models.chat.adapters import Lora, trainable
from lmod_train.models.chat.answer_loss import batch_loss
from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.encoding import Images, encode
from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.prefixes import Asked
from lmod_train.models.chat.token_loop import decoded
from lmod_train.models.modules.optimisation import Optimisation, optimiser

Config = dict[str, Any]

LLAMA: Config = {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32}
LLAMA |= {"intermediate_size": 11008, "num_key_value_heads": 32, "vocab_size": 32064}
MISTRAL: Config = {**LLAMA, "model_type": "mistral", "intermediate_size": 14336, "num_key_value_heads": 8}
MISTRAL |= {"sliding_window": None}
QWEN2: Config = {"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28}
QWEN2 |= {"intermediate_size": 18944, "num_key_value_heads": 4, "vocab_size": 152064}
AXES: Config = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]}
QWEN25: Config = {k: v for k, v in QWEN2.items() if k != "model_type"} | {"rope_parameters": AXES}
QWEN3: Config = {**QWEN25, "hidden_size": 4096, "num_hidden_layers": 36, "num_attention_heads": 32}
QWEN3 |= {"num_key_value_heads": 8}
QWEN3 |= {"intermediate_size": 12288, "head_dim": 128}
QWEN3 |= {"rope_parameters": {**AXES, "mrope_section": [24, 20, 20], "mrope_interleaved": True}}
GEMMA: Config = {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34, "num_attention_heads": 8}
GEMMA |= {"intermediate_size": 10240, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 262208}
CLIP: Config = {"model_type": "clip_vision_model", "hidden_size": 1024, "intermediate_size": 4096}
CLIP |= {"num_hidden_layers": 24}
CLIP |= {"num_attention_heads": 16, "image_size": 336, "patch_size": 14}
SIGLIP: Config = {
    "model_type": "siglip_vision_model",
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "image_size": 384,
}
SIGLIP |= {"num_hidden_layers": 27, "num_attention_heads": 16, "patch_size": 14, "vision_use_head": False}
INTERN: Config = {
    "model_type": "internvl_vision",
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
}
INTERN |= {"num_attention_heads": 16, "image_size": [448, 448], "patch_size": [14, 14]}
EYE25: Config = {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "out_hidden_size": 3584}
EYE3: Config = {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16, "out_hidden_size": 4096}
EYE3 |= {"patch_size": 16, "deepstack_visual_indexes": [8, 16, 24]}
IMAGE = 9
"""Id of the image token."""


@dataclass(frozen=True)
class Size:
    """The real size of a family.

    Attributes:
        text: Values of the language model's configuration.
        vision: Values of the tower's.
        tensors: Shapes of the tensors of an image of 4:3; (1, 2) and (1, 3) hold sizes and grids.
        more: Further values of the configuration.
    """

    text: dict[str, Any]
    vision: dict[str, Any]
    tensors: dict[str, Any]
    more: dict[str, Any]


PINS: Config = {"image_grid_pinpoints": [[336, 672], [672, 336], [672, 672]]}
WIDE: Config = {"image_grid_pinpoints": [[384, 768], [768, 384], [768, 768]], "vision_aspect_ratio": "anyres_max_9"}
FEATURES: Config = {"vision_feature_layer": -2, "vision_feature_select_strategy": "default"}
PLAIN: Config = {"vision_feature_layer": -1, "vision_feature_select_strategy": "full"}
SIZES = {
    "llava": Size(LLAMA, CLIP, {"pixel_values": (1, 3, 336, 336)}, FEATURES),
    "llava_next": Size(
        MISTRAL, CLIP, {"pixel_values": (1, 5, 3, 336, 336), "image_sizes": [[768, 1024]]}, FEATURES | PINS
    ),
    "llava_onevision": Size(
        QWEN2,
        SIGLIP,
        {"pixel_values": (1, 5, 3, 384, 384), "image_sizes": [[768, 1024]], "batch_num_images": [1]},
        PLAIN | WIDE,
    ),
    "internvl": Size(QWEN2, INTERN, {"pixel_values": (7, 3, 448, 448)}, {"image_seq_length": 256}),
    "qwen2_5_vl": Size(QWEN25, EYE25, {"pixel_values": (54 * 74, 1176), "image_grid_thw": [[1, 54, 74]]}, {}),
    "qwen3_vl": Size(QWEN3, EYE3, {"pixel_values": (48 * 64, 1536), "image_grid_thw": [[1, 48, 64]]}, {}),
    "gemma3": Size(
        GEMMA, {**SIGLIP, "image_size": 896}, {"pixel_values": (1, 3, 896, 896)}, {"mm_tokens_per_image": 256}
    ),
    "idefics3": Size(
        {**MISTRAL, "model_type": "llama", "vocab_size": 128259},
        {**SIGLIP, "image_size": 364, "model_type": "idefics3_vision"},
        {"pixel_values": (1, 13, 3, 364, 364), "pixel_attention_mask": (1, 13, 364, 364)},
        {"scale_factor": 2},
    ),
}
NARROW: Config = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
NARROW |= {"num_key_value_heads": 2, "vocab_size": 512, "head_dim": 16, "depth": 2, "num_heads": 4}
NARROW |= {"out_hidden_size": 64, "deepstack_visual_indexes": [0, 1]}
SECTIONS: Config = {"mrope_section": [2, 3, 3]}


def narrowed(values: dict[str, Any]) -> dict[str, Any]:
    """Return values of a configuration with layers of 64 values."""
    made = values | {name: value for name, value in NARROW.items() if name in values}
    if "rope_parameters" in values:
        made["rope_parameters"] = values["rope_parameters"] | SECTIONS
    return made


def network_of(name: str, a: argparse.Namespace) -> Any:
    """Return a family's network with random weights, made on the device."""
    size = SIZES[name]
    text, vision = (narrowed(v) if a.small else v for v in (size.text, size.vision))
    ids = {"image_token_index": IMAGE} if "llava" in name or name == "gemma3" else {"image_token_id": IMAGE}
    text = text | {"tie_word_embeddings": False, "max_position_embeddings": 8192, "pad_token_id": 0}
    config = AutoConfig.for_model(name, text_config=text, vision_config=vision, **ids, **size.more)
    torch.manual_seed(0)
    with torch.device(a.device):
        dtype = torch.float32 if a.small else torch.bfloat16  # of float32 the replies are equal
        return AutoModelForImageTextToText.from_config(config, dtype=dtype).eval()


def image_of(name: str, a: argparse.Namespace) -> dict[str, Tensor]:
    """Return the tensors of a random image."""
    given = SIZES[name].tensors
    made = {key: torch.tensor(value) if isinstance(value, list) else torch.randn(value) for key, value in given.items()}
    if "pixel_attention_mask" in made:
        made["pixel_attention_mask"] = torch.ones_like(made["pixel_attention_mask"]).bool()
    return {k: v.to(a.device) for k, v in made.items()}


def batch_of(network: Any, name: str, images: int, questions: int, a: argparse.Namespace) -> ChatBatch:
    """Return random questions about random images: 8 words, the image, and 40 to 80 words."""
    items = [image_of(name, a) for _ in range(images)]
    places = family_of(network).image_tokens(items[0])
    shared = [*torch.randint(20, 400, (8,)).tolist(), *[IMAGE] * places]
    lengths = torch.randint(40, 81, (images * questions,)).tolist()
    prompts = [shared + torch.randint(20, 400, (n,)).tolist() for n in lengths]
    answers = [torch.randint(20, 400, (12,)).tolist() for _ in prompts]
    owners = [(i // questions,) for i in range(len(prompts))]
    nothing: Any = [None] * len(prompts)  # records, of which only the number is read
    return ChatBatch(nothing, prompts, answers, [""] * len(prompts), Images(items, [places] * images), owners)


@torch.inference_mode()
def ours(network: Any, batch: ChatBatch, a: argparse.Namespace) -> list[list[int]]:
    """Return the tokens of our replies."""
    asked = Asked(network, encode(network, batch.images), batch.prompt_ids, batch.images_of, set(), 0)
    return decoded(asked, a.tokens)


@torch.inference_mode()
def plain(network: Any, batch: ChatBatch, a: argparse.Namespace) -> list[list[int]]:
    """Return the tokens of `generate`, the questions of an image in one padded batch, each with its image."""
    family, found = family_of(network), []
    for image, item in enumerate(batch.images.items):
        prompts = [p for p, own in zip(batch.prompt_ids, batch.images_of, strict=True) if own == (image,)]
        longest = max(map(len, prompts))
        ids = torch.tensor([[0] * (longest - len(p)) + p for p in prompts], device=a.device)
        given = family.joined([item] * len(prompts))
        given["pixel_values"] = given["pixel_values"].to(network.dtype)
        if family.token_types:
            given[family.token_types] = (ids == IMAGE).int()
        out = network.generate(
            input_ids=ids,
            attention_mask=(ids != 0).long(),
            **given,
            max_new_tokens=a.tokens,
            min_new_tokens=a.tokens,
            do_sample=False,
            pad_token_id=0,
        )
        found += out[:, longest:].tolist()
    return found


def step_of(model: Any, network: Any, batch: ChatBatch, learning: bool) -> Callable[[], Any]:
    """Return a function that computes a training step: loss and gradients, and the update where it is learning."""
    part, settings = family_of(network).part, Optimisation()
    rates = ((p, settings.rate(part(n), "lora_" in n)) for n, p in model.named_parameters())
    made, _ = optimiser(rates, settings, 100) if learning else (None, None)

    def step() -> None:
        with torch.autocast(network.device.type, torch.bfloat16):
            loss = batch_loss(network, batch, 0, 8192, shared_prefix=True, device=network.device)
        loss.backward()
        if made is not None:
            made.step()
        model.zero_grad()

    return step


@contextmanager
def freed(a: argparse.Namespace) -> Iterator[None]:
    """Report what does not fit, and free the memory afterwards."""
    try:
        yield
    except torch.cuda.OutOfMemoryError:
        print("| | does not fit this device | | | |", flush=True)
    gc.collect()
    if a.device != "cpu":
        torch.cuda.empty_cache()


def row(what: str, run: Callable[[], Any], a: argparse.Namespace, tokens: int = 0, than: Any = None) -> Any:
    """Run twice, print a row for the second time, and return its result."""
    gpu = a.device != "cpu"
    run()
    if gpu:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    made = run()
    if gpu:
        torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    memory = f"{torch.cuda.max_memory_allocated() / 2**30:.1f}" if gpu else ""
    equal = f"{sum(a == b for a, b in zip(made, than, strict=True))} of {len(made)}" if than else ""
    rate = f"{tokens / seconds:.1f}" if tokens else ""
    print(f"| {what} | {seconds:.3f} | {rate} | {memory} | {equal} |", flush=True)
    return made


def answering(name: str, a: argparse.Namespace) -> None:
    """Measure (a) and (b)."""
    network = network_of(name, a)
    count = sum(p.numel() for p in network.parameters()) / 1e9
    batch = batch_of(network, name, a.images, 12, a)
    new = len(batch.prompt_ids) * a.tokens
    print(f"\n{name}: {count:.2f} G parameters, {(batch.images.tokens or [0])[0]} image tokens, {len(batch)} questions")
    print("| what | s | new tokens/s | memory, GiB | equal |\n|---|---|---|---|---|", flush=True)
    theirs = row("generate, 12 questions a batch", lambda: plain(network, batch, a), a, new)
    row("ours", lambda: ours(network, batch, a), a, new, theirs)
    network.requires_grad_(False)
    network.get_input_embeddings().weight.requires_grad_(True)  # so that gradients pass all layers
    one = batch_of(network, name, 1, 12, a)
    flex = a.device != "cpu" and network.get_decoder()._supports_flex_attn  # no gradients on a CPU
    for attention in ("sdpa", "flex_attention") if flex else ("sdpa",):
        network.set_attn_implementation({"text_config": attention})
        with freed(a):
            row(f"12 questions forward and backward, {attention}", step_of(network, network, one, False), a)


def training(name: str, a: argparse.Namespace, lora: Lora | None) -> None:
    """Measure one row of (c)."""
    network = network_of(name, a)
    network.gradient_checkpointing_enable({"use_reentrant": False})
    model = trainable(network, lora, tune_language_model=lora is None)
    batch = batch_of(network, name, -(-a.train // 12), 12, a)
    row("a step with LoRA" if lora else "a step of full tuning", step_of(model, network, batch, True), a)


def main() -> None:
    """Print a table for each family."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", choices=SIZES, nargs="+", default=list(SIZES))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--small", action="store_true", help="narrow layers, to try the script on a CPU")
    parser.add_argument("--images", type=int, default=4, help="images of a batch, with 12 questions each")
    parser.add_argument("--tokens", type=int, default=64, help="tokens of a reply")
    parser.add_argument("--train", type=int, default=12, help="questions of a training step, a multiple of 12")
    a = parser.parse_args()
    if a.device == "cpu" and not a.small:
        parser.error("no GPU is at hand: --small tries the script on a CPU")
    for name in a.families:
        with freed(a):
            answering(name, a)
        for lora in (Lora(), None):
            with freed(a):
                training(name, a, lora)


if __name__ == "__main__":
    main()
