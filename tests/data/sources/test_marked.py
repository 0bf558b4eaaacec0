from lmod_train.data.sources.marked import marked_folder


def has_images(folder):
    return (folder / "Images").is_dir()


def test_the_nearest_folder_with_the_marker_is_found(tmp_path):
    for place in ("b/b/Images", "a/a/a/a/Images", "__MACOSX/Images"):
        (tmp_path / place).mkdir(parents=True)
    assert marked_folder(tmp_path, has_images) == tmp_path / "b" / "b"
    assert marked_folder(tmp_path / "b" / "b", has_images, levels=0) == tmp_path / "b" / "b"


def test_folders_too_deep_or_missing_give_none(tmp_path):
    (tmp_path / "a/b/c/d/Images").mkdir(parents=True)
    assert marked_folder(tmp_path, has_images) is None
    assert marked_folder(tmp_path, has_images, levels=4) == tmp_path / "a/b/c/d"
    assert marked_folder(tmp_path / "missing", has_images) is None
