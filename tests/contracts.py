"""What every source, task, ... promises: inherit the class, give the fixture, and the promises are tested."""

import pytest

from lmod_train.errors import SourceNotFound
from lmod_train.sources.base import Source
from lmod_train.types import Dropped, Sample
from lmod_train.vocabulary.conditions import CONDITIONS
from lmod_train.vocabulary.structures import STRUCTURES


class SourceContract:
    """Promises of a source. Give a fixture `source`: an instance over a folder with at least one sample."""

    @pytest.fixture
    def source(self) -> Source:
        raise NotImplementedError("give a fixture named source")

    def test_constants_are_stated(self, source):
        assert source.name.isidentifier() and source.licence and source.reference.startswith("https://")
        assert source.modality in {"CFP", "OCT", "SLO", "LP", "SS"}
        assert isinstance(source.redistributable, bool)

    def test_verify_accepts_the_layout(self, source):
        source.verify()

    def test_two_readings_are_the_same(self, source):
        assert list(source.samples()) == list(type(source)(source.root).samples())

    def test_keys_are_unique_and_safe_in_paths(self, source):
        keys = [s.key for s in source.samples() if isinstance(s, Sample)]
        assert keys and len(keys) == len(set(keys))
        assert not [k for k in keys if k.startswith("/") or ".." in k.split("/") or "\\" in k]

    def test_samples_carry_the_source_and_files_that_exist(self, source):
        for sample in (s for s in source.samples() if isinstance(s, Sample)):
            assert (sample.source, sample.modality, sample.licence) == (source.name, source.modality, source.licence)
            assert sample.image.is_file() and sample.image.is_relative_to(source.root)
            assert sample.group
            assert all(mask.path.is_file() for mask in sample.masks)

    def test_pixels_stay_unread(self, source):
        assert all(s.size == (0, 0) and s.sha256 == "" for s in source.samples() if isinstance(s, Sample))

    def test_words_are_of_the_vocabulary(self, source):
        structures = {term.name for term in STRUCTURES}
        diagnoses = {term.name for term in CONDITIONS}
        for sample in (s for s in source.samples() if isinstance(s, Sample)):
            assert sample.labels.get("diagnosis", "normal") in diagnoses
            assert sample.labels.get("glaucoma", "no") in {"yes", "no"}
            assert sample.patient.laterality in {None, "left", "right"}
            for coding in (coding for mask in sample.masks for coding in mask.codings):
                assert "background" in coding and set(coding) - {"background"} <= structures

    def test_drops_name_a_file_and_a_reason(self, source):
        for dropped in (s for s in source.samples() if isinstance(s, Dropped)):
            assert dropped.source == source.name and dropped.reason and (source.root / dropped.file).exists()

    def test_found_in_means_this_very_folder(self, source, tmp_path):
        assert type(source).found_in(source.root)
        assert not type(source).found_in(tmp_path)
        (tmp_path / "deeper" / "copy").mkdir(parents=True)
        (tmp_path / "deeper" / "copy" / "data").symlink_to(source.root, target_is_directory=True)
        assert not type(source).found_in(tmp_path / "deeper")

    def test_an_empty_folder_is_told_with_the_expected_tree(self, source, tmp_path):
        for reading in (lambda s: s.verify(), lambda s: list(s.samples())):
            with pytest.raises(SourceNotFound) as caught:
                reading(type(source)(tmp_path))
            message = str(caught.value)
            assert str(tmp_path) in message and "<root>/" in message and f"--roots.{source.name}" in message
