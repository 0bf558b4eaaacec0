"""Images of records as data URLs, in the size and format that the settings state."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from PIL import Image

from lmod_train.errors import BadArgument, CuratedDamaged
from lmod_train.pixels import UNREADABLE, blank, jpeg_bytes, open_rgb, png_bytes
from lmod_train.raw import read_bytes

Detail = Literal["", "auto", "low", "high"]


@dataclass(frozen=True)
class ImagePolicy:
    """How an image is sent; part of what decides the replies.

    Attributes:
        longest_side: Pixels; a larger image is shrunk to it (Lanczos). 0 sends the curated size.
        format: ``as_is`` sends the bytes of a curated JPEG as they are, and everything else as PNG; ``jpeg`` and
            ``png`` write every image anew.
        quality: Of JPEG, 1 to 95.
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
        """Return the policy as JSON holds it."""
        return asdict(self)

    def url(self, file: Path) -> str:
        """Return an image file as a data URL.

        Raises:
            CuratedDamaged: It is missing or cannot be read.
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
    """Return the file without what stands beside its pixels; not a JPEG, its pixels as PNG."""
    try:
        return blank(read_bytes(file)) if _is_jpeg(file) else png_bytes(image)
    except UNREADABLE as error:
        raise CuratedDamaged(file, f"curated image cannot be read ({error})") from error


def _shrunk(image: Image.Image, longest: int) -> Image.Image:
    """Return the image with its longer side at most `longest` pixels; the same image where it is, or `longest` is 0."""
    if not longest or max(image.size) <= longest:
        return image
    scale = longest / max(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image.resize(size, Image.Resampling.LANCZOS)


def urls_of(root: Path, names: Sequence[str], policy: ImagePolicy) -> dict[str, str]:
    """Return image name -> data URL, each image read once.

    Args:
        root: The curated folder.
        names: Paths relative to it; one may come several times.
        policy: Size and format.
    """
    return {name: policy.url(root / name) for name in dict.fromkeys(names)}


def described(url: str) -> str:
    """Return a data URL without its data, for a log: type, bytes and the beginning of the SHA-256.

    Example:
        >>> described("data:image/png;base64,AAAA")
        'data:image/png;base64,<3 bytes, sha256 709e80c88487a241>'
    """
    head, _, data = url.partition(",")
    content = base64.b64decode(data)
    return f"{head},<{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()[:16]}>"
