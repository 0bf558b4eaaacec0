"""Processors with the published settings of real checkpoints, beside a tiny configuration and no weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import transformers

from tests import families
from tests.families import _config, _tokenizer

CLIP: dict[str, Any] = {
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "size": {"shortest_edge": 336},
    "crop_size": {"height": 336, "width": 336},
}
STEPS = [384 * i for i in range(1, 7)]


class Llava(families.Llava):
    clip: ClassVar = {**families.Llava.clip, "patch_size": 14}

    def images(self):
        return transformers.LlavaImageProcessor(**CLIP, do_center_crop=True)


class LlavaNext(families.LlavaNext):
    clip: ClassVar = {**families.Llava.clip, "patch_size": 14}

    def images(self):
        points = [[336, 672], [672, 336], [672, 672], [1008, 336], [336, 1008]]
        return transformers.LlavaNextImageProcessor(**CLIP, do_center_crop=True, image_grid_pinpoints=points)


class LlavaOnevision(families.LlavaOnevision):
    def images(self):
        points = [[high, wide] for high in STEPS for wide in STEPS]
        side = {"height": 384, "width": 384}
        return transformers.LlavaOnevisionImageProcessor(size=side, image_grid_pinpoints=points)

    def processor(self, images, tokenizer, template):
        video = transformers.LlavaOnevisionVideoProcessor()
        values = {"num_image_tokens": 729, "vision_feature_select_strategy": "full"}
        aspect = {"vision_aspect_ratio": "anyres_max_9"}
        return transformers.LlavaOnevisionProcessor(images, tokenizer, video, **values, **aspect, **template)


class InternVL(families.InternVL):
    def images(self):
        side = {"height": 448, "width": 448}
        return transformers.GotOcr2ImageProcessor(size=side, min_patches=1, max_patches=12, crop_to_patches=True)

    def processor(self, images, tokenizer, template):
        video = transformers.InternVLVideoProcessor()
        return transformers.InternVLProcessor(images, tokenizer, video, image_seq_length=256, **template)


class Qwen25VL(families.Qwen25VL):
    def images(self):
        return transformers.Qwen2VLImageProcessor(size={"shortest_edge": 3136, "longest_edge": 12845056})


class Qwen3VL(families.Qwen3VL):
    def images(self):
        size = {"shortest_edge": 65536, "longest_edge": 16777216}
        return transformers.Qwen2VLImageProcessor(patch_size=16, size=size)


class Gemma3(families.Gemma3):
    def images(self):
        return transformers.Gemma3ImageProcessor(size={"height": 896, "width": 896})

    def processor(self, images, tokenizer, template):
        return transformers.Gemma3Processor(images, tokenizer, image_seq_length=256, **template)


class Idefics3(families.Idefics3):
    def images(self):
        return transformers.Idefics3ImageProcessor(size={"longest_edge": 1456}, max_image_size={"longest_edge": 364})

    def processor(self, images, tokenizer, template):
        return transformers.Idefics3Processor(images, tokenizer, image_seq_len=169, **template)


REAL: dict[str, families.Tiny] = {
    "gemma3": Gemma3(),
    "idefics3": Idefics3(),
    "internvl": InternVL(),
    "llava": Llava(),
    "llava_next": LlavaNext(),
    "llava_onevision": LlavaOnevision(),
    "qwen2_5_vl": Qwen25VL(),
    "qwen3_vl": Qwen3VL(),
}


def write_processor(folder: Path, model_type: str) -> Path:
    """Save the processor of a family with its published sizes and a config.json, without weights; return the folder."""
    tiny = REAL[model_type]
    tokenizer = _tokenizer(tiny)
    tiny.processor(tiny.images(), tokenizer, {"chat_template": tiny.template}).save_pretrained(folder)
    _config(model_type, tiny, tokenizer, {}).save_pretrained(folder)
    return folder
