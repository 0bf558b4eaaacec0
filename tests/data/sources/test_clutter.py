from lmod_train.data.sources.clutter import entries, files_below


def test_only_data_is_listed_in_order_of_names(tmp_path):
    for name in ("b/2.jpg", "b/1.jpg", "a.txt", "__MACOSX/x.jpg", "b/._1.jpg", "Thumbs.db", "1.jpg:Zone.Identifier"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert [p.name for p in entries(tmp_path)] == ["a.txt", "b"]
    assert [p.relative_to(tmp_path).as_posix() for p in files_below(tmp_path)] == ["a.txt", "b/1.jpg", "b/2.jpg"]


def test_no_folder_has_no_entries(tmp_path):
    assert entries(tmp_path / "none") == [] == list(files_below(tmp_path / "none"))


def test_circular_links_end(tmp_path):
    (tmp_path / "x.jpg").write_text("")
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    assert [p.name for p in files_below(tmp_path)] == ["x.jpg"]


def test_an_empty_folder_with_the_name_of_a_table_is_listed_as_the_table(tmp_path):
    (tmp_path / "labels.csv").mkdir()
    (tmp_path / "Again.CSV").mkdir()
    (tmp_path / "Again.CSV" / "again.csv").write_text("")
    assert [p.relative_to(tmp_path).as_posix() for p in files_below(tmp_path)] == ["labels.csv", "Again.CSV/again.csv"]
