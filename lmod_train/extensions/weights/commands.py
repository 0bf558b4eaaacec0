"""Commands that convert weights. They need torch, which is imported when they run."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Literal

from lmod_train.core.errors import BadArgument


def apply_delta(*, delta: Path, base: Path, out: Path) -> None:
    """Make whole weights of delta weights and the language model they were computed from.

    Args:
        delta: Folder of the delta weights, e.g. llava-med-7b-delta.
        base: Folder of the language model named in the delta's model card, e.g. LLaMA 7B.
        out: Folder to write; new or empty.
    """
    from lmod_train.models.chat import delta as weights

    weights.apply_delta(delta, base, out)
    gain = weights.mean_gain(out)
    print(f"wrote {out}" + ("" if gain is None else f"; mean gain of its norms {gain:.3f} (expected 0.1 to 2)"))


def convert(folder: Path, *, out: Path, tower: Path | None = None, template: str = "") -> None:
    """Convert a published checkpoint of another layout to the layout of transformers.

    Supported are LLaVA 1.0, 1.5 and 1.6, LLaVA-Med 1.0 (after `weights apply-delta`) and 1.5, ShareGPT4V, and InternVL
    1.5 to 3.5. Every tensor is converted or left out, with the reason in the result's README.md; no tensor is
    initialised at random. On an error nothing is written.

    Args:
        folder: Folder of the downloaded checkpoint.
        out: Folder to write; new or empty.
        tower: Folder of the vision tower, for checkpoints that do not contain it (`mm_vision_tower` in config.json).
        template: Chat template: vicuna_v1, mistral_instruct, llava_v0, llava_llama_2, chatml_direct, internlm2-chat or
            internvl2_5; default: the template of the published weights.
    """
    from lmod_train.extensions.weights import convert as conversion

    done = conversion.convert(folder, out, tower, template or None)
    print(f"found {done.title}: {done.tensors} tensors written, {done.dropped} of the source left out")
    print(f"wrote {out}: chat template {done.template}; its README.md lists every file with SHA-256 and every decision")


def merge(
    *,
    ckpt: Path,
    out: Path,
    base: str | None = None,
    names: Literal["transformers", "server"] = "transformers",
    family: str | None = None,
    trust: list[str] | None = None,
    onto: Literal["published", "quantised"] = "published",
) -> None:
    """Merge a tuned checkpoint and its base into one Hugging Face folder for transformers.

    Args:
        ckpt: Checkpoint of a tuned model, a file or folder, e.g. RUN/checkpoints/last.ckpt.
        out: Folder to write; new or empty.
        base: Folder of the base model, or name of one in the package; default: the base recorded in the checkpoint.
        names: Names of the tensors: those of transformers, or those that servers such as vLLM read. transformers loads
            both.
        family: Class path of the model family, if it is defined outside this package, as in model.init_args.family of
            the training.
        trust: The checkpoint folder again, to load pickles in it that are refused otherwise. They can run any code,
            so only trust a checkpoint whose author you know.
        onto: Of a model tuned with `quantise`: merge into the base as published, or into its quantised weights, with
            which it was trained and evaluated.
    """
    from lmod_train.extensions.weights import merging

    if family:
        _import_family(family)
    facts = merging.merge(ckpt, out, base, names, [Path(name) for name in trust or ()], onto)
    if quantise := facts.get("quantise"):
        told = {
            "published": f"merged into the weights as published, not those in {quantise} that the model was tuned and "
            "evaluated with: replies may differ; evaluate the folder again, or add `--onto quantised`",
            "quantised": f"merged into the weights in {quantise}, written out: replies are those of the tuned model",
        }
        print(told[onto])
    print(f"wrote {out}: {facts['base']} with {ckpt} merged, {facts['dtype']}; its README.md states the licence")


def _import_family(path: str) -> None:
    """Import the class of a model family, which makes its checkpoints known.

    Raises:
        BadArgument: There is no such class.
    """
    from lmod_train.models.chat.family.base import Family

    module, _, name = path.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        cure = "install the package that defines it, or run the command in the folder of the module's file"
        raise BadArgument("--family", path, f"the path of a class ({error})", cure) from error
    if not (isinstance(found, type) and issubclass(found, Family)):
        expected = "a subclass of lmod_train.models.chat.family.base.Family"
        raise BadArgument("--family", path, expected, "name that class")
