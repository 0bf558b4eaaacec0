"""The dialect of LLaVA and LLaVA-NeXT: a picture padded to a square, image tokens as the tower makes them."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from lmod_train.chat.dialect import Dialect
from lmod_train.chat.encoding import class_tokens
from lmod_train.pixels import pad_square


class LlavaNextDialect(Dialect):
    """LLaVA-NeXT's: its processor cuts a picture into tiles by its shape, which it keeps.

    The count in `num_additional_image_tokens` is 0 in some published processors of CLIP towers, which then come out one
    short (575 of 576); a CLIP tower adds exactly one.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.processor.num_additional_image_tokens = class_tokens(self.config)


class LlavaDialect(LlavaNextDialect):
    """LLaVA's: a picture is padded to a square with the tower's mean colour; its processor would crop the centre."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._fill = tuple(round(255 * m) for m in self.processor.image_processor.image_mean)

    def shaped(self, picture: Image.Image) -> Image.Image:
        """Return the picture centred on a square of its longer side."""
        return pad_square(picture, self._fill)
