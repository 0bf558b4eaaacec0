"""Commands about weights. They need torch, which is imported when they run."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Literal

from lmod_train.errors import BadArgument


def apply_delta(*, delta: Path, base: Path, out: Path) -> None:
    """Put a model together from delta weights and the language model they were subtracted from.

    Args:
        delta: Folder of the delta weights, e.g. llava-med-7b-delta.
        base: Folder of the language model that the delta's model card names, e.g. LLaMA 7B.
        out: Folder to write; it must not exist.
    """
    from lmod_train.chat import delta as weights

    weights.apply_delta(delta, base, out)
    gain = weights.mean_gain(out)
    print(f"wrote {out}" + ("" if gain is None else f": mean gain of its norms {gain:.3f}"))


def convert(folder: Path, *, out: Path, tower: Path | None = None, template: str = "") -> None:
    """Write a published checkpoint that is not in the layout of transformers in that layout, whole or not at all.

    Layouts: LLaVA 1.0, 1.5 and 1.6, LLaVA-Med 1.0 (after apply-delta) and 1.5, ShareGPT4V, InternVL 1.5 to 2.5.
    Every tensor is mapped, or left out for a reason that README.md of the result names; nothing is random.

    Args:
        folder: Folder of the checkpoint as it was downloaded.
        out: Folder to write; new or empty.
        tower: Folder of the vision tower, for checkpoints that only name it (`mm_vision_tower` in config.json).
        template: Chat template: vicuna_v1, mistral_instruct, llava_v0, llava_llama_2, chatml_direct, internlm2-chat or
            internvl2_5; the one that the weights were published with where left out.
    """
    from lmod_train.chat.conversion import convert as conversion

    done = conversion.convert(folder, out, tower, template or None)
    print(f"found {done.title}: {done.tensors} tensors written, {done.dropped} of the source left out")
    print(
        f"wrote {out}: chat template {done.template}; README.md names every file with its sha256 and what was decided"
    )


def merge(
    *,
    ckpt: Path,
    out: Path,
    base: str | None = None,
    names: Literal["transformers", "server"] = "transformers",
    family: str | None = None,
    trust: list[str] | None = None,
) -> None:
    """Make one Hugging Face folder of a tuned checkpoint and its base, which plain transformers loads.

    Args:
        ckpt: A checkpoint of a tuned model, file or folder, e.g. RUN/checkpoints/last.ckpt.
        out: Folder to write; new or empty.
        base: Folder of the base, or its name among those that come with the package; what the checkpoint says where
            left out.
        names: What tensors are called: as transformers writes them, or as servers (vLLM) read them; transformers loads
            both.
        family: Class of the base's model family where that is of a module outside this package, as the training named
            it in model.init_args.family.
        trust: The checkpoint folder once more, where it is refused because its pickles ask for more than checkpoints
            hold: it may then run code, so only where you know who wrote it.
    """
    from lmod_train.modules import merging

    if family:
        _import_family(family)
    facts = merging.merge(ckpt, out, base, names, [Path(name) for name in trust or ()])
    print(f"wrote {out}: {facts['base']} with what {ckpt} has learned, {facts['dtype']}; README.md says the licence")


def _import_family(path: str) -> None:
    """Import the class of a model family, by which its checkpoints are known from then on.

    Raises:
        BadArgument: The path leads to no such class.
    """
    from lmod_train.chat.family.base import Family

    module, _, name = path.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        cure = "install the package that defines it, or type the command in the folder that holds the module's file"
        raise BadArgument("--family", path, f"the path of a class ({error})", cure) from error
    if not (isinstance(found, type) and issubclass(found, Family)):
        raise BadArgument("--family", path, "a subclass of lmod_train.chat.family.base.Family", "name that class")
