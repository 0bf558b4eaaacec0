"""Commands about weights. They need torch, which is imported when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Literal


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


def merge(
    *,
    ckpt: Path,
    out: Path,
    base: str | None = None,
    names: Literal["transformers", "server"] = "transformers",
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
        trust: The checkpoint folder once more, where it is refused because its pickles ask for more than checkpoints
            hold: it may then run code, so only where you know who wrote it.
    """
    from lmod_train.modules import merging

    facts = merging.merge(ckpt, out, base, names, [Path(name) for name in trust or ()])
    print(f"wrote {out}: {facts['base']} with what {ckpt} has learned, {facts['dtype']}; README.md says the licence")
