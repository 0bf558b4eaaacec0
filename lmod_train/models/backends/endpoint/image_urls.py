"""Images of records as data URLs, in the size and format that the settings state."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any, Literal

from PIL import Image

from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument
from lmod_train.core.pixels import jpeg_bytes, open_picture, png_bytes
from lmod_train.core.types import Record

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

    def url(self, images: Curated, name: str, sha256: str = "") -> str:
        """Return an image as a data URL.

        Args:
            images: The curated folder's images.
            name: Which of them.
            sha256: What its record states of the file; empty if it states nothing.

        Raises:
            CuratedDamaged: The file is missing, cannot be read, or is not the one stated.
        """
        data = self._bytes(images.bytes(name, sha256))
        kind = "jpeg" if data.startswith(b"\xff\xd8") else "png"
        return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"

    def _bytes(self, bare: bytes) -> bytes:
        """Return the file to send of an image file without metadata."""
        image, is_jpeg = open_picture(bare).convert("RGB"), bare.startswith(b"\xff\xd8")
        small = _shrunk(image, self.longest_side)
        if small is image and self.format == "as_is" and is_jpeg:
            return bare
        jpeg = self.format == "jpeg" or (self.format == "as_is" and is_jpeg)
        return jpeg_bytes(small, self.quality) if jpeg else png_bytes(small)


def _shrunk(image: Image.Image, longest: int) -> Image.Image:
    """Return the image, reduced to at most `longest` pixels on its longer side; `longest` of 0 keeps the size."""
    if not longest or max(image.size) <= longest:
        return image
    scale = longest / max(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image.resize(size, Image.Resampling.LANCZOS)


def urls_of(images: Curated, records: Sequence[Record], policy: ImagePolicy) -> dict[str, str]:
    """Return image name -> data URL of the images that the records show, reading each only once.

    Args:
        images: The curated folder's images.
        records: What is asked.
        policy: Size and format.

    Raises:
        CuratedDamaged: An image is missing, cannot be read, or is another file than its record states.
    """
    stated = {n: sha for r in records for n, sha in zip_longest(r.image, r.image_sha256[: len(r.image)], fillvalue="")}
    return {name: policy.url(images, name, sha256) for name, sha256 in stated.items()}


def described(url: str) -> str:
    """Return a data URL for a log, with its data replaced by its size and the start of its SHA-256.

    Example:
        >>> described("data:image/png;base64,AAAA")
        'data:image/png;base64,<3 bytes, sha256 709e80c88487a241>'
    """
    head, _, data = url.partition(",")
    content = base64.b64decode(data)
    return f"{head},<{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()[:16]}>"
