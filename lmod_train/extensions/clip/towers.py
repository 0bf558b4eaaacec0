"""Image and text towers with a common space, from local files: models of open_clip, of transformers, and FLAIR."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from PIL.Image import Image
from torch import Tensor, nn
from torch.nn import functional
from torchvision.models import resnet50
from torchvision.transforms.functional import pil_to_tensor, resize
from transformers import AutoModel, BertConfig, BertModel, BertTokenizer

from lmod_train.core.artifacts.model_facts import known_models
from lmod_train.core.errors import BadArgument, WeightsMismatch, WeightsNotFound
from lmod_train.core.weight_values import checkpoint_json
from lmod_train.models.chat.base_files import processor_files
from lmod_train.models.chat.checkpoint import load, processor_of
from lmod_train.models.chat.checkpoint_files import checked, short
from lmod_train.models.modules.base import built
from lmod_train.models.vision.strict_loading import fill
from lmod_train.models.vision.weights_file import read_weights

CONFIG = "open_clip_config.json"

UNUSED = ("input_resolution", "context_length", "vocab_size", "text.transformer.embeddings.position_ids")
"""Names in files of OpenAI's CLIP and of earlier versions of transformers that no network has."""

FLAIR_TEXT = "emilyalsentzer/Bio_ClinicalBERT"
"""Text tower of FLAIR, whose configuration and vocabulary are not in its file."""

FLAIR_UNUSED = ("attention.W_", "atte_", "text_model.model.embeddings.position_ids")
"""Prefixes of KeepFIT's attention to expert knowledge, of the training only, and what earlier transformers stored."""


class Towers(nn.Module, ABC):
    """An image tower and a text tower whose embeddings are compared.

    Attributes:
        transform: Function from a picture to the input of the image tower, known before the network is built.
        files: Files on which the embeddings depend.
        network: The network, with ``logit_scale``; None before `build`.
    """

    transform: Callable[[Image], Tensor]
    files: tuple[Path, ...]

    def __init__(self) -> None:
        super().__init__()
        self.network: Any = None

    @property
    def settings(self) -> dict[str, Any]:
        """What decides the embeddings beside the files."""
        return {}

    def build(self) -> None:
        """Build the network and load its weights, once."""
        if self.network is None:
            self.network = self._loaded().requires_grad_(False).eval()

    @property
    def scale(self) -> Tensor:
        """Factor of the cosine similarity in the logits."""
        scale: Tensor = built(self.network).logit_scale.float().exp()
        return scale.squeeze()

    @abstractmethod
    def _loaded(self) -> nn.Module:
        """Return the network with its weights."""

    @abstractmethod
    def images(self, pixels: Tensor) -> Tensor:
        """Return the embeddings (B, width) of inputs of `transform`."""

    @abstractmethod
    def texts(self, texts: Sequence[str]) -> Tensor:
        """Return the embeddings (texts, width) of texts.

        Raises:
            BadArgument: One is too long for the text tower.
        """


class OpenClip(Towers):
    """A model of open_clip, in full precision.

    Args:
        weights: Folder with ``open_clip_config.json``, the weights and, unless the tokenizer is CLIP's, the tokenizer
            and the configuration of the text tower; or, with `architecture`, a file of weights.
        architecture: Name of the model in open_clip whose weights are the file's; empty for that of the folder.
        unused: Prefixes of tensors in the file that belong to its pre-training only.

    Raises:
        BadArgument: The package open_clip is not installed, or has no such architecture.
        WeightsNotFound: There is no such folder or file, or a part of it is missing.
        WeightsMismatch: The configuration does not describe a model of open_clip.
    """

    def __init__(self, weights: str, architecture: str = "", unused: Sequence[str] = ()) -> None:
        super().__init__()
        if find_spec("open_clip") is None:
            expected = "the package open_clip_torch, which is not installed"
            raise BadArgument("towers", "OpenClip", expected, "`pip install 'lmod-train[clip]'`")
        self._folder, self._file = _found(weights, architecture)
        self._architecture, self._unused = architecture, (*UNUSED, *unused)
        config = _config(self._folder, architecture)
        self._model: dict[str, Any] = dict(config["model_cfg"])
        text, vision = dict(self._model["text_cfg"]), dict(self._model["vision_cfg"])
        if ":" in str(vision.get("timm_model_name")):
            raise _unread(self._folder, ValueError("its image tower is named by a place on the hub"))
        try:
            self._tokenizer = _tokenizer(text, self._folder)
            self.transform = _transform(config.get("preprocess_cfg", {}), vision)
        except (KeyError, TypeError, ValueError, OSError, AssertionError) as error:
            raise _unread(self._folder, error) from error
        self.files = (self._file, *(() if architecture else _described(self._folder, CONFIG)))
        if name := text.get("hf_model_name"):
            tower = _text_tower(self._folder, name)
            self.files += (tower / "config.json",)
            text |= {"hf_model_name": str(tower), "hf_model_pretrained": False}
        self._model |= {"text_cfg": text, "vision_cfg": {**vision, "timm_model_pretrained": False}}

    @property
    def settings(self) -> dict[str, Any]:
        """Name of the architecture."""
        return {"architecture": self._architecture}

    def _loaded(self) -> nn.Module:
        import open_clip

        options = {name: value for name, value in self._model.items() if name != "custom_text"}
        apart = self._model.get("custom_text") or "hf_model_name" in options["text_cfg"]
        try:
            network: nn.Module = (open_clip.CustomTextCLIP if apart else open_clip.CLIP)(**options)
        except (KeyError, TypeError, ValueError, OSError, AssertionError, RuntimeError) as error:
            raise _unread(self._folder, error) from error
        file = read_weights(self._file)
        named = {name.removeprefix("module."): tensor for name, tensor in file.tensors.items()}
        fill(network, file, {n: t for n, t in named.items() if not n.startswith(self._unused)}, set())
        return network

    def images(self, pixels: Tensor) -> Tensor:
        """Return the embeddings (B, width) of inputs of `transform`."""
        found: Tensor = built(self.network).encode_image(pixels)
        return found

    def texts(self, texts: Sequence[str]) -> Tensor:
        """Return the embeddings (texts, width) of texts."""
        own, most = self._tokenizer, self._tokenizer.context_length
        for text in texts:
            _refuse_long(
                text,
                len(own.tokenizer(text).input_ids) if hasattr(own, "tokenizer") else len(own.encode(text)) + 2,
                most,
            )
        found: Tensor = built(self.network).encode_text(own(list(texts)).to(self.network.logit_scale.device))
        return found


class Transformers(Towers):
    """A model of transformers with two towers, such as CLIPModel and SiglipModel, in full precision.

    Args:
        weights: Folder in the layout of transformers, with tokenizer and image processor.

    Raises:
        WeightsNotFound: There is no such folder, or a part of it is missing.
        WeightsMismatch: A file of it cannot be read.
        BadArgument: Its class has no two towers.
    """

    def __init__(self, weights: str) -> None:
        super().__init__()
        if not Path(weights).is_dir():
            raise WeightsNotFound("weights", weights, "no such folder; weights are not downloaded", _fetch(weights))
        self._folder, _ = checked(weights)
        processor = processor_of(self._folder)
        self._tokenizer = processor.tokenizer
        self.transform = partial(_processed, processor.image_processor)
        self.files = (*sorted(self._folder.glob("*.safetensors")), *_described(self._folder, "config.json"))

    def _loaded(self) -> nn.Module:
        network = load(self._folder, kind=AutoModel)
        if not hasattr(network, "get_text_features") or not hasattr(network, "logit_scale"):
            expected = f"a class with two towers, such as CLIPModel or SiglipModel, not {type(network).__name__}"
            raise BadArgument("weights", str(self._folder), expected, "name another folder")
        return network

    def images(self, pixels: Tensor) -> Tensor:
        """Return the embeddings (B, width) of inputs of `transform`."""
        found: Tensor = built(self.network).get_image_features(pixel_values=pixels).pooler_output
        return found

    def texts(self, texts: Sequence[str]) -> Tensor:
        """Return the embeddings (texts, width) of texts, padded to the longest that the tower takes."""
        network = built(self.network)
        most = network.config.text_config.max_position_embeddings
        for text in texts:
            _refuse_long(text, len(self._tokenizer(text).input_ids), most)
        given = self._tokenizer(list(texts), padding="max_length", max_length=most, return_tensors="pt")
        found: Tensor = network.get_text_features(**given.to(network.device)).pooler_output
        return found


class Flair(Towers):
    """A file of FLAIR (Silva-Rodriguez et al. 2025) or KeepFIT (Wu et al. 2024), in full precision.

    A ResNet-50 and a clinical BERT with projections to 512 values, for fundus photographs. Its authors normalise before
    the projections, too; as these have no bias, that changes no direction.

    Args:
        weights: File of weights.
        longest: Most tokens of a text with which the model was trained: 77 of FLAIR, 256 of KeepFIT.
        image_size: Side of the square input.

    Raises:
        WeightsNotFound: There is no such file, or no folder ``Bio_ClinicalBERT`` beside it with the configuration and
            the vocabulary of the text tower.
    """

    def __init__(self, weights: str, longest: int = 77, image_size: int = 512) -> None:
        super().__init__()
        folder, self._file = _found(weights, "FLAIR")
        self._text, self._longest, self._size = _text_tower(folder, FLAIR_TEXT, "vocab.txt"), longest, image_size
        self._tokenizer = BertTokenizer.from_pretrained(self._text, local_files_only=True)
        self.transform = partial(_on_canvas, image_size)
        self.files = (self._file, *_described(self._text, "config.json"))

    @property
    def settings(self) -> dict[str, Any]:
        """Side of the input."""
        return {"image_size": self._size}

    def _loaded(self) -> nn.Module:
        network = _FlairNetwork(BertConfig.from_dict(dict(checkpoint_json(self._text / "config.json"))))
        file = read_weights(self._file)
        fill(network, file, {n: t for n, t in file.tensors.items() if not n.startswith(FLAIR_UNUSED)}, set())
        network.logit_scale.data.clamp_(0, math.log(100))
        return network

    def images(self, pixels: Tensor) -> Tensor:
        """Return the embeddings (B, width) of inputs of `transform`."""
        vision = built(self.network).vision_model
        found: Tensor = vision["projection_head_vision"]["projection"](vision["model"](pixels))
        return found

    def texts(self, texts: Sequence[str]) -> Tensor:
        """Return the embeddings (texts, width): the mean of the tokens of the first, second and last layer.

        As in the authors' program, the padding to the longest of the texts counts in the mean.
        """
        for text in texts:
            _refuse_long(text, len(self._tokenizer(text).input_ids), self._longest)
        given = self._tokenizer(list(texts), padding=True, return_tensors="pt").to(self.network.logit_scale.device)
        tower = built(self.network).text_model
        layers = tower["model"](**given, output_hidden_states=True).hidden_states
        mean = torch.stack([layers[1], layers[2], layers[-1]]).mean((0, 2))
        found: Tensor = tower["projection_head_text"]["projection"](mean)
        return found


class _FlairNetwork(nn.Module):
    """The layers by the names in files of FLAIR."""

    def __init__(self, text: BertConfig) -> None:
        super().__init__()
        vision = resnet50()
        features, vision.fc = vision.fc.in_features, nn.Identity()
        heads = [nn.ModuleDict({"projection": nn.Linear(n, 512, bias=False)}) for n in (features, text.hidden_size)]
        self.vision_model = nn.ModuleDict({"model": vision, "projection_head_vision": heads[0]})
        self.text_model = nn.ModuleDict({"model": BertModel(text), "projection_head_text": heads[1]})
        self.logit_scale = nn.Parameter(torch.tensor(0.0))


def _on_canvas(side: int, picture: Image) -> Tensor:
    """Return the values in [0, 1] with the longer side scaled, black on the right or below; workers can be sent it."""
    pixels = pil_to_tensor(picture).float() / 255
    scale = max(pixels.shape[1:]) / side
    scaled = resize(pixels, [int(length / scale) for length in pixels.shape[1:]], antialias=False)
    return functional.pad(scaled, (0, side - scaled.shape[2], 0, side - scaled.shape[1]))


def _processed(processor: Any, picture: Image) -> Tensor:
    """Return the input of a tower, for a processor of transformers; a function, so that workers can be sent it."""
    pixels: Tensor = processor(picture, return_tensors="pt").pixel_values[0]
    return pixels


def _refuse_long(text: str, length: int, most: int) -> None:
    """Refuse a text that a tokenizer would cut off."""
    if length > most:
        expected = f"texts of at most {most} tokens for this text tower; this has {length}"
        raise BadArgument("prompts", text, expected, "shorten the words or the templates")


def _described(folder: Path, config: str) -> tuple[Path, ...]:
    """Return the configuration of a folder, and the files of its tokenizer and image processor."""
    return (folder / config, *(folder / name for name in processor_files(folder)))


def _found(weights: str, architecture: str) -> tuple[Path, Path]:
    """Return the folder and the file of weights."""
    place = Path(weights)
    if architecture and place.is_file():
        return place.parent, place
    if not architecture and (place / CONFIG).is_file():
        patterns = ("open_clip*.safetensors", "*.safetensors", "open_clip*.bin", "*.bin", "*.pt", "*.pth")
        if found := [file for pattern in patterns for file in sorted(place.glob(pattern))]:
            return place, found[0]
    wanted = "file" if architecture else f"folder with {CONFIG} and weights"
    raise WeightsNotFound("weights", weights, f"no such {wanted}; weights are not downloaded", _fetch(weights))


def _fetch(weights: str) -> str:
    """Return how to get the weights of a shipped config, or any."""
    for model in known_models(Path(__file__).parent / "configs" / "model"):
        if model.folder == Path(weights).stem and model.hub.startswith("github.com/"):
            return f"download the file that the README of {model.hub} links to, and save it as {weights}"
        if model.folder == Path(weights).name:
            return f"`hf download {model.hub} --local-dir {weights}` on a machine with access to the hub"
    return f"`hf download OWNER/NAME --local-dir {weights}` on a machine with access to the hub"


def _config(folder: Path, architecture: str) -> Mapping[str, Any]:
    """Return ``model_cfg`` and ``preprocess_cfg`` of an architecture, or of a folder."""
    import open_clip

    if not architecture:
        config = checkpoint_json(folder / CONFIG)
        if not all(isinstance(config.get("model_cfg", {}).get(part), dict) for part in ("text_cfg", "vision_cfg")):
            raise _unread(folder, ValueError("no model_cfg with text_cfg and vision_cfg"))
        return config
    if architecture not in open_clip.list_models():
        cure = "list them: python -c \"import open_clip; print(*open_clip.list_models(), sep='\\n')\""
        raise BadArgument("architecture", architecture, f"a model of open_clip {open_clip.__version__}", cure)
    return {"model_cfg": open_clip.get_model_config(architecture)}


def _tokenizer(text: Mapping[str, Any], folder: Path) -> Any:
    """Return the tokenizer: that of the folder, or CLIP's, which comes with open_clip."""
    from open_clip.tokenizer import HFTokenizer, SimpleTokenizer

    length, options = text.get("context_length", 77), text.get("tokenizer_kwargs", {})
    if "hf_tokenizer_name" not in text:
        return SimpleTokenizer(context_length=length, **options)
    local = {"local_files_only": True, "trust_remote_code": False}
    mode = text.get("tokenizer_mode")
    return HFTokenizer(str(folder), context_length=length, tokenizer_mode=mode, **{**options, **local})


def _transform(stated: Mapping[str, Any], vision: Mapping[str, Any]) -> Callable[[Image], Tensor]:
    """Return the preprocessing of evaluation, as open_clip makes it of a configuration."""
    from open_clip.transform import PreprocessCfg, image_transform_v2, merge_preprocess_dict

    size = {"size": vision.get("image_size", 224)}
    made: Callable[[Image], Tensor] = image_transform_v2(
        PreprocessCfg(**merge_preprocess_dict(merge_preprocess_dict(PreprocessCfg(), stated), size)), is_train=False
    )
    return made


def _text_tower(folder: Path, name: str, *more: str) -> Path:
    """Return the local folder with the configuration, and `more` files, of a text tower that lies on the hub."""
    last, files = name.rpartition("/")[2], ("config.json", *more)
    for place in (folder / last, folder.parent / last, folder):
        if all((place / file).is_file() for file in files):
            return place
    fetch = f"`hf download {name} {' '.join(files)} --local-dir {folder / last}` on a machine with access to the hub"
    raise WeightsNotFound("weights", str(folder), f"{' and '.join(files)} of its text tower {name}: missing", fetch)


def _unread(folder: Path, error: Exception) -> WeightsMismatch:
    what = f"a model and tokenizer of open_clip as {CONFIG} describes them ({short(error)})"
    return WeightsMismatch(
        str(folder), [what], [], f"copy the files that were published with these weights to {folder}"
    )
