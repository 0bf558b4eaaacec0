from lmod_train.report.report import LIST, replace_files


def test_only_listed_files_of_the_folder_are_removed(tmp_path):
    out = tmp_path / "out"
    for name in ("tables/old.csv", "tables/my_notes.csv", "figures/old.png"):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("x")
    (tmp_path / "outside.txt").write_text("x")
    (out / LIST).write_text("tables/old.csv\n../outside.txt\nfigures/old.png\ntables\nfigures/gone.png\n")
    replace_files(out, ["tables/new.csv"])
    assert sorted(f.relative_to(out).as_posix() for f in out.rglob("*") if f.is_file()) == [LIST, "tables/my_notes.csv"]
    assert (tmp_path / "outside.txt").exists() and (out / LIST).read_text() == "tables/new.csv\n"


def test_a_folder_without_a_list_loses_nothing(tmp_path):
    (tmp_path / "paper.png").write_text("x")
    replace_files(tmp_path, [])
    assert (tmp_path / "paper.png").exists()
