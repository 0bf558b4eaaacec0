"""Data files of the package are read once."""

import pytest

from lmod_train.core.package_data import package_data


def test_a_file_beside_the_module_is_read_once_and_no_object_is_made(tmp_path):
    module = str(tmp_path / "module.py")
    (tmp_path / "words.yaml").write_text("module: {a: [1, b]}")
    assert package_data(module, "words.yaml") == {"module": {"a": [1, "b"]}}
    assert package_data(module, "words.yaml") is package_data(module, "words.yaml")
    (tmp_path / "bad.yaml").write_text("!!python/object/apply:os.getcwd []")
    with pytest.raises(ValueError, match="a tag"):
        package_data(module, "bad.yaml")
