from lmod_train.core.own_modules import unnamed_import, with_imported


def test_imports_beside_a_module_and_in_a_package_are_followed(tmp_path):
    files = {
        "one.py": "def f():\n    import two\n",
        "two.py": "from room.inner import x\nimport numpy, three.four",
        "room/__init__.py": "",
        "room/inner.py": "from . import other\nfrom .more import y\nimport five",
        "room/other.py": "import six_",
        "five.py": "this is no Python",
        "six_.py": "",
        "seven.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert with_imported(tmp_path, ["one"]) == {"one", "two", "room", "five", "six_"}
    assert with_imported(tmp_path, ["seven", "nowhere", "..", ""]) == {"seven"}


def test_only_a_module_that_lies_in_the_working_folder_has_the_cure_of_an_import(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "near.py").write_text("")
    assert "`import near`" in unnamed_import("No module named 'near'")
    assert unnamed_import("No module named 'far'") == unnamed_import("other") == ""
