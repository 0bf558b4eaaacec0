"""The layout of LLaVA 1.0 and 1.5, LLaVA-Med 1.0 and 1.5 and ShareGPT4V: a flat configuration and a CLIP tower."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor
from transformers import LlavaConfig, LlavaImageProcessor, LlavaProcessor

from lmod_train.core.errors import NotConvertible
from lmod_train.core.package_data import package_data
from lmod_train.extensions.weights.clip import INSIDE, OF_TEXT, clip_config, picture_statistics, tower_tensors
from lmod_train.extensions.weights.language_model import text_config
from lmod_train.extensions.weights.layout import HEAD, Layout, Rule, Words
from lmod_train.models.chat.stored import Stored, stored_in

TEXT = {"llava": "llama", "llava_llama": "llama", "llava_mistral": "mistral"}
"""Language model of each `model_type` of the original code."""

LINEAR, TWO_LAYERS = "linear", "mlp2x_gelu"

UNDERSTOOD: list[str] = package_data(__file__, "words.yaml")["llava"]["understood"]
"""Supported settings of the original code; others, if set, may change the model in unknown ways."""

PROJECTOR = "multi_modal_projector"

STRATEGY = {"patch": "default", "cls_patch": "full"}


class Llava(Layout):
    """Layout of LLaVA's original code, without tiles."""

    image_token = "<image>"  # noqa: S105
    runtime_names = (
        (r"^model\.language_model\.", "language_model.model."),
        (r"^lm_head\.", "language_model.lm_head."),
        (r"^model\.vision_tower\.", "vision_tower.vision_model."),
        (r"^model\.", ""),
    )
    configures: ClassVar[Any] = LlavaConfig
    processes: ClassVar[tuple[Any, Any]] = (LlavaProcessor, LlavaImageProcessor)

    def __init__(self, folder: Path, values: Mapping[str, Any], tower: Path | None = None) -> None:
        inside = folder / str(values["mm_vision_tower"])
        super().__init__(folder, values, tower or (inside if inside.is_dir() else None))
        self._check()
        self._own_tower = any(tensor.name.startswith(INSIDE) for tensor in stored_in(folder))
        if self.tower is None and not self._own_tower:
            raise NotConvertible(folder, f"it contains no vision tower, only its name {self._tower!r}", self._fetch())

    @property
    def title(self) -> str:
        """Name of the layout: LLaVA 1.0 has one linear layer as projector, LLaVA 1.5 two with a GELU between them."""
        return "LLaVA 1.0, one linear projector" if self._single else "LLaVA 1.5, two-layer projector"

    @property
    def template(self) -> str:
        """Vicuna's template from LLaVA 1.5 on, `###` before; Mistral's for LLaVA-Med 1.5."""
        if self.values["model_type"] == "llava_mistral":
            return "mistral_instruct"
        return "llava_v0" if self._single else "vicuna_v1"

    @property
    def notes(self) -> Sequence[str]:
        """Sentences on the conversion of the projector and on the tower used."""
        notes = []
        if self._single:
            notes.append(
                "The single linear projector is `linear_1`; `projector_hidden_act` is `linear` and `linear_2` an "
                "identity, so that the projector's output is unchanged."
            )
        if self.tower and self._own_tower:
            notes.append("The vision tower is the checkpoint's own; of the tower's folder only `config.json` is used.")
        return notes

    @property
    def rules(self) -> Sequence[Rule]:
        """Rules of projector, tower and language model."""
        single = (Rule(r"model\.mm_projector\.(weight|bias)", (rf"{PROJECTOR}.linear_1.\1",)),)
        double = (
            Rule(r"model\.mm_projector\.0\.(weight|bias)", (rf"{PROJECTOR}.linear_1.\1",)),
            Rule(r"model\.mm_projector\.2\.(weight|bias)", (rf"{PROJECTOR}.linear_2.\1",)),
        )
        return (
            *(single if self._single else double),
            Rule(r"model\.vision_tower\.vision_tower\.(vision_model\..+)", (r"vision_tower.\1",)),
            Rule(r"model\.((?:embed_tokens|layers|norm)\..+)", (r"language_model.model.\1",)),
            Rule(r"lm_head\.weight", (HEAD,)),
        )

    @property
    def dropped(self) -> Mapping[str, str]:
        """Tensors that every version computes from the configuration, and CLIP's text model."""
        return {
            r".*rotary_emb\.inv_freq": "computed from the configuration",
            r".*embeddings\.position_ids": "an index from 0 upwards",
            OF_TEXT: "of CLIP's text model, which LLaVA does not use",
            r"model\.image_newline": "not used, as mm_patch_merge_type is flat",
        }

    @property
    def _single(self) -> bool:
        return bool(self.values.get("mm_projector_type", LINEAR) == LINEAR)

    @property
    def _tower(self) -> str:
        return str(self.values["mm_vision_tower"])

    def stored(self) -> Iterator[Stored]:
        """Yield the checkpoint's tensors, and those of the tower's folder if the checkpoint contains no tower."""
        apart = tower_tensors(self.tower) if self.tower and not self._own_tower else ()
        return chain(stored_in(self.folder), apart)

    def made(self, dtype: Any) -> Mapping[str, Tensor]:
        """Return an identity as the second linear layer of a projector that has only one."""
        if not self._single:
            return {}
        width = int(self.values["hidden_size"])
        identity, zeros = torch.eye(width, dtype=dtype), torch.zeros(width, dtype=dtype)
        return {f"{PROJECTOR}.linear_2.weight": identity, f"{PROJECTOR}.linear_2.bias": zeros}

    def configuration(self, words: Words, rows: int, shapes: Mapping[str, tuple[int, ...]]) -> Any:
        """Return the configuration of transformers."""
        vision: Any = clip_config(self.folder, self._tower, self.tower, shapes)
        return self.configures(
            text_config=text_config(TEXT[self.values["model_type"]], self.values, rows, words),
            vision_config=vision,
            image_token_index=words.image_token_id,
            projector_hidden_act="linear" if self._single else "gelu",
            vision_feature_layer=self.values["mm_vision_select_layer"],
            vision_feature_select_strategy=STRATEGY[self._feature],
            image_seq_length=(vision.image_size // vision.patch_size) ** 2 + (self._feature == "cls_patch"),
            **self._tiles(),
        )

    def _tiles(self) -> dict[str, Any]:
        """Return the settings of tiles for the configuration."""
        return {}

    @property
    def _feature(self) -> str:
        return str(self.values.get("mm_vision_select_feature", "patch"))

    def processor(self, words: Words, config: Any, template: str) -> Any:
        """Return LLaVA's processor; it pads to a square if the checkpoint was trained so."""
        side = config.vision_config.image_size
        pictures = self.processes[1](
            size={"shortest_edge": side},
            crop_size={"height": side, "width": side},
            **self._cut(),
            **picture_statistics(self.tower, self.folder),
        )
        return self.processes[0](
            pictures,
            words.tokenizer,
            patch_size=config.vision_config.patch_size,
            vision_feature_select_strategy=config.vision_feature_select_strategy,
            num_additional_image_tokens=1,
            image_token=self.image_token,
            chat_template=template,
        )

    def _cut(self) -> dict[str, Any]:
        """Return the settings of padding or tiles for the image processor."""
        return {"do_pad": self.values.get("image_aspect_ratio") == "pad"}

    def written(self, template: str) -> str:
        """Return a chat template with the tokens that LLaVA 1.0 puts around an image."""
        if not self.values.get("mm_use_im_start_end"):
            return template
        return template.replace("<image>", "<im_start><image><im_end>")

    def _check(self) -> None:
        """Refuse settings of the original code that transformers' LLaVA does not support."""
        kind, found = self.values.get("model_type"), self.values.get("mm_projector_type", LINEAR)
        if kind not in TEXT:
            self._refuse(f"model_type {kind!r}; known are {', '.join(TEXT)}")
        if str(found).endswith("_Norm"):
            self._refuse(
                f"mm_projector_type {found!r}: norms in the projector (Yi-VL), which no class of transformers has"
            )
        if found not in (LINEAR, TWO_LAYERS):
            self._refuse(f"mm_projector_type {found!r}; transformers' LLaVA has {LINEAR} and {TWO_LAYERS}")
        if self._feature not in STRATEGY:
            self._refuse(f"mm_vision_select_feature {self._feature!r}; known are {', '.join(STRATEGY)}")
        if not isinstance(self.values.get("mm_vision_select_layer"), int):
            self._refuse("no mm_vision_select_layer, the layer of the tower whose features are used")
        strange = sorted(k for k in self.values if k.startswith("mm_") and k not in UNDERSTOOD and self.values[k])
        if strange:
            self._refuse(f"{', '.join(strange)}: unknown settings, which are not of LLaVA's code")
        self._check_tiles()

    def _check_tiles(self) -> None:
        if self.values.get("mm_patch_merge_type", "flat") != "flat":
            self._refuse(
                f"mm_patch_merge_type {self.values['mm_patch_merge_type']!r} without image_aspect_ratio anyres"
            )

    def _refuse(self, problem: str) -> None:
        cure = "run it with the code that its page names, behind an endpoint, or name another checkpoint"
        raise NotConvertible(self.folder, f"config.json has {problem}", cure)

    def _fetch(self) -> str:
        get = f"`hf download {self._tower} --local-dir TOWER`" if "/" in self._tower else "fetch the tower"
        folder = shlex.quote(str(self.folder))
        return f"{get}, then `python -m lmod_train weights convert {folder} --out OUT --tower TOWER`"


LAYOUT = Llava
