"""The command `audit`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from jsonargparse.typing import PositiveInt

from lmod_train.core.artifacts.model_facts import download, nearest
from lmod_train.core.errors import BadArgument
from lmod_train.core.raw import read_yaml
from lmod_train.core.shipped import config_files

LOCAL = (
    "lmod_train.models.backends.huggingface.HuggingFace",
    "lmod_train.models.modules.conversation.VisionLanguageModel",
)

CURE = "`python -m lmod_train list models` lists the configs; a checkpoint folder can be named too"


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
    from lmod_train.core.artifacts.manifest import read_manifest
    from lmod_train.core.lock import locked
    from lmod_train.extensions.audit.views import table, write_views

    read_manifest(curated)
    folder, options = _checkpoint(model)
    from lmod_train.extensions.audit.image_processor import look_of
    from lmod_train.models.chat.pictures import Pictures

    try:
        pictures = Pictures(**{**options, **({"fit": fit} if fit else {})})
    except TypeError as error:
        expected = f"options of pictures: {', '.join(asdict(Pictures()))} ({error})"
        raise BadArgument(f"images of {model}", options, expected, CURE) from error
    look = look_of(folder, pictures)
    name = _name(model) + (f"_{fit}" if fit else "")
    place = out or curated / "preprocessing" / name
    with locked(out or curated, "--out" if out else "curated"):
        images = write_views(look, curated, place, name, limit, sheet)
    print(table(images))
    print(f"wrote {place}: images.csv, page.md and the contact sheets")


def _name(model: str) -> str:
    """Return the name of a config without its ending, or that of a folder, whose dots are part of it (`llava-1.5`)."""
    return Path(model).stem if Path(model).is_file() else Path(model).resolve().name


def _checkpoint(model: str) -> tuple[Path, dict[str, Any]]:
    """Return the folder of a model and its image options.

    Raises:
        BadArgument: There is no such config or folder, or it is no vision-language model with a local checkpoint.
        WeightsNotFound: The config's checkpoint is not there.
    """
    file = Path(model) if Path(model).is_file() else config_files("model").get(model)
    if file is None:
        if (folder := Path(model)).is_dir() and (folder / "config.json").is_file():
            return folder, {}
        expected = "the name of a model config, a YAML file of one, or a checkpoint folder with a config.json"
        near = nearest(model)
        cure = f"did you mean `python -m lmod_train audit {near[0]} CURATED`?" if near else CURE
        raise BadArgument("model", model, expected, cure)
    chosen = _local(model, _content(model, file))
    return _folder(str(chosen["checkpoint"])), dict(chosen.get("images") or {})


def _content(model: str, file: Path) -> dict[str, Any]:
    """Return the content of a model config.

    Raises:
        BadArgument: It is no YAML mapping with a class.
    """
    try:
        content = read_yaml(file)
    except (OSError, ValueError) as error:
        raise BadArgument("model", model, f"a YAML file of a model config ({error})", CURE) from error
    if not isinstance(content, dict) or "class_path" not in content:
        raise BadArgument("model", model, "a YAML file of a model config, which has a class_path", CURE)
    return content


def _local(model: str, config: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the local checkpoint that a config names."""
    part = (config.get("init_args") or {}).get("backend") or config
    options = part.get("init_args") or {}
    if part.get("class_path") not in LOCAL:
        expected = (
            "a model with a local checkpoint and a language model; how services prepare pictures is not published"
        )
        raise BadArgument("model", model, expected, "name the checkpoint's folder, if you have it")
    if not options.get("checkpoint"):
        raise BadArgument("model", model, "a model config with init_args.checkpoint", CURE)
    return dict(options)


def _folder(checkpoint: str) -> Path:
    from lmod_train.models.chat.checkpoint_files import folder_of

    return folder_of(checkpoint, lambda: f"download its files: {_how_to_fetch(checkpoint)}")


def _how_to_fetch(checkpoint: str) -> str:
    return download(checkpoint, small=True) or (
        f"`hf download OWNER/NAME --exclude '*.safetensors' --local-dir {checkpoint}`; `python -m lmod_train list "
        "models --table` shows OWNER/NAME"
    )
