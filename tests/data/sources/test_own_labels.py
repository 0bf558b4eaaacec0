"""A source may carry labels that are not of the vocabulary, if its contract lists their words."""

from pathlib import Path
from typing import ClassVar

import pytest
from PIL import Image

from lmod_train.core.errors import SourceNotFound
from lmod_train.core.types import Sample, SampleStream
from lmod_train.data.sources.base import Source
from tests.contracts import SourceContract


class Discs(Source):
    """One photograph in each of two class folders."""

    name = "discs"
    modality = "CFP"
    licence = "CC0"
    redistributable = True
    reference = "https://example.org/discs"

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        return (folder / "flat").is_dir()

    def verify(self) -> None:
        if not self.found_in(self.root):
            raise SourceNotFound(self.name, self.root, "flat/", "  <root>/{flat,swollen}/*.png")

    def samples(self) -> SampleStream:
        self.verify()
        for photo in sorted(self.root.glob("*/*.png")):
            word = photo.parent.name
            yield Sample(self.name, photo.stem, "CFP", photo, photo.stem, self.licence, labels={"disc": word})


@pytest.fixture
def discs(tmp_path_factory: pytest.TempPathFactory) -> Discs:
    root = tmp_path_factory.mktemp("discs")
    for word in ("flat", "swollen"):
        (root / word).mkdir()
        Image.new("RGB", (8, 8)).save(root / word / f"{word}.png")
    return Discs(root)


class TestContract(SourceContract):
    own_labels: ClassVar = {"disc": {"flat", "swollen"}}

    @pytest.fixture
    def source(self, discs):
        return discs


@pytest.mark.parametrize(("listed", "complaint"), [({}, "own_labels"), ({"disc": {"flat"}}, "disc is 'swollen'")])
def test_a_label_that_is_not_listed_breaks_the_contract(discs, listed, complaint):
    contract = TestContract()
    contract.own_labels = listed
    with pytest.raises(AssertionError, match=complaint):
        contract.test_words_are_of_the_vocabulary(discs)
