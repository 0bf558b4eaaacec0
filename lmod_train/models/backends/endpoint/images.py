"""Images of records as data URLs, in the size and format that the settings state."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from PIL import Image

from lmod_train.core.errors import BadArgument, CuratedDamaged
from lmod_train.core.pixels import UNREADABLE, blank, jpeg_bytes, open_rgb, png_bytes
from lmod_train.core.raw import read_bytes

Detail = Literal["", "auto", "low", "high"]


@dataclass(frozen=True)
class ImagePolicy:
    """Size and format of sent images.

    Attributes:
        longest_side: Maximum length of the longer side in pixels, to which larger images are reduced (Lanczos); 0 for
            the curated size.
        format: ``as_is`` sends a curated JPEG unchanged and any other image as PNG; ``jpeg`` and ``png`` re-encode all
            images.
        quality: JPEG quality, 1 to 95.
        detail: OpenAI's ``detail`` of an image; empty sends none.
    """

    longest_side: int = 0
    format: Literal["as_is", "jpeg", "png"] = "as_is"
    quality: int = 95
    detail: Detail = ""

    def __post_init__(self) -> None:
        if self.longest_side < 0:
            raise BadArgument("images.longest_side", self.longest_side, "pixels, or 0 for the curated size", "set 1024")
        if not 1 <= self.quality <= 95:
            raise BadArgument("images.quality", self.quality, "a number from 1 to 95", "set 95")

    def settings(self) -> Mapping[str, Any]:
        """Return the policy as JSON values."""
        return asdict(self)

    def url(self, file: Path) -> str:
        """Return an image file as a data URL.

        Raises:
            CuratedDamaged: The file is missing or cannot be read.
        """
        data = self._bytes(file)
        kind = "jpeg" if data.startswith(b"\xff\xd8") else "png"
        return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"

    def _bytes(self, file: Path) -> bytes:
        image = open_rgb(file)
        small = _shrunk(image, self.longest_side)
        if small is image and self.format == "as_is":
            return _as_it_is(file, image)
        jpeg = self.format == "jpeg" or (self.format == "as_is" and _is_jpeg(file))
        return jpeg_bytes(small, self.quality) if jpeg else png_bytes(small)


def _is_jpeg(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(2) == b"\xff\xd8"


def _as_it_is(file: Path, image: Image.Image) -> bytes:
    """Return a JPEG without metadata; any other file as PNG of its pixels."""
    try:
        return blank(read_bytes(file)) if _is_jpeg(file) else png_bytes(image)
    except UNREADABLE as error:
        raise CuratedDamaged(file, f"curated image cannot be read ({error})") from error


def _shrunk(image: Image.Image, longest: int) -> Image.Image:
    """Return the image, reduced to at most `longest` pixels on its longer side; `longest` of 0 keeps the size."""
    if not longest or max(image.size) <= longest:
        return image
    scale = longest / max(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image.resize(size, Image.Resampling.LANCZOS)


def urls_of(root: Path, names: Sequence[str], policy: ImagePolicy) -> dict[str, str]:
    """Return image name -> data URL, reading each image only once.

    Args:
        root: The curated folder.
        names: Paths relative to it; duplicates are allowed.
        policy: Size and format.
    """
    return {name: policy.url(root / name) for name in dict.fromkeys(names)}


def described(url: str) -> str:
    """Return a data URL for a log, with its data replaced by its size and the start of its SHA-256.

    Example:
        >>> described("data:image/png;base64,AAAA")
        'data:image/png;base64,<3 bytes, sha256 709e80c88487a241>'
    """
    head, _, data = url.partition(",")
    content = base64.b64decode(data)
    return f"{head},<{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()[:16]}>"
