"""The command `audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml
from jsonargparse.typing import PositiveInt

from lmod_train.cli.listing import configs_folder
from lmod_train.errors import BadArgument, WeightsNotFound

LOCAL = ("lmod_train.backends.huggingface.HuggingFace", "lmod_train.modules.conversation.VisionLanguageModel")


def audit(
    model: str,
    curated: Path,
    *,
    out: Path | None = None,
    limit: PositiveInt = 100,
    sheet: PositiveInt = 4,
    fit: Literal["", "pad", "crop"] = "",
) -> None:
    """Measure how much of the images of a curated folder a model sees, with pictures of what its network sees.

    Test images pass through the model's image processor, and its output shows which part of an image arrives, how fine,
    in how many tiles and image tokens. Prints a table by modality, and writes images.csv, page.md and a contact sheet
    for each modality. Needs the files of the processor only, no weights.

    Args:
        model: Name of a model config (`list models`), a YAML file of one, or a checkpoint folder.
        curated: Folder written by `curate`.
        out: Folder to write to; default: CURATED/preprocessing/MODEL.
        limit: Maximum number of images of a modality, drawn evenly.
        sheet: Number of images on a contact sheet.
        fit: `pad` or `crop` in place of the config's option, for models whose processor crops the centre (LLaVA).
    """
    from lmod_train.artifacts.manifest import read_manifest
    from lmod_train.audit.views import table, write_views

    read_manifest(curated)
    folder, options = _checkpoint(model)
    from lmod_train.chat.look import look_of
    from lmod_train.chat.pictures import Pictures

    look = look_of(folder, Pictures(**{**options, **({"fit": fit} if fit else {})}))
    name = Path(model).stem + (f"_{fit}" if fit else "")
    place = out or curated / "preprocessing" / name
    images = write_views(look, curated, place, name, limit, sheet)
    print(table(images))
    print(f"wrote {place}: images.csv, page.md and the contact sheets")


def _checkpoint(model: str) -> tuple[Path, dict[str, Any]]:
    """Return the folder of a model and its image options.

    Raises:
        BadArgument: There is no such config or folder, or the model is not a local checkpoint.
        WeightsNotFound: The config's checkpoint is not there.
    """
    file = next((f for f in (Path(model), configs_folder() / "model" / f"{model}.yaml") if f.is_file()), None)
    if file is None:
        if (folder := Path(model)).is_dir() and (folder / "config.json").is_file():
            return folder, {}
        expected = "the name of a model config, a YAML file of one, or a checkpoint folder with a config.json"
        raise BadArgument("model", model, expected, "`python -m lmod_train list models` lists the configs")
    chosen = _local(model, yaml.safe_load(file.read_text(encoding="utf-8")))
    return _folder(chosen["checkpoint"]), dict(chosen.get("images") or {})


def _local(model: str, config: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the local checkpoint that a config names."""
    part = (config.get("init_args") or {}).get("backend") or config
    if part.get("class_path") not in LOCAL:
        expected = "a model with a local checkpoint; a service prepares pictures itself, in ways that are not published"
        raise BadArgument("model", model, expected, "name the checkpoint's folder, if you have it")
    return dict(part["init_args"])


def _folder(checkpoint: str) -> Path:
    from lmod_train.chat.checkpoint import SHIPPED

    folder = next((p for p in (Path(checkpoint), SHIPPED / checkpoint) if (p / "config.json").is_file()), None)
    if folder is None:
        raise WeightsNotFound(
            "checkpoint",
            checkpoint,
            "no folder of that name with a config.json, neither here nor among the checkpoints of the package",
            f"download its small files: `hf download OWNER/NAME --exclude '*.safetensors' --local-dir {checkpoint}`; "
            "`python -m lmod_train list models --table` shows OWNER/NAME",
        )
    return folder
