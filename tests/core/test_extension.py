"""Extensions: one that is broken costs a line, two of one name are refused, and no name is taken twice in silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lmod_train.extensions
from lmod_train import cli
from lmod_train.cli.commands import asks, chosen, commands, groups
from lmod_train.cli.listing import sources as listed_sources
from lmod_train.cli.phantoms import drawn_folders
from lmod_train.core import extension
from lmod_train.core.errors import BadArgument
from lmod_train.core.extension import absent, extensions, joined, loaded, merged, named, packages
from lmod_train.core.shipped import config_at, config_files, config_folders, configs_folder, shipped_as
from lmod_train.data.sources.discovery import source_classes
from lmod_train.report.section import added, shipped_sections
from tests.installed import forget, installed, record, write_package

OURS = sorted(file.parent.name for file in (extension.PACKAGE / "extensions").glob("*/__init__.py"))


@pytest.fixture
def site(tmp_path):
    """A folder whose packages are installed."""
    with installed(tmp_path):
        yield tmp_path


def test_ours_are_found_by_their_folders_and_each_has_the_name_of_its_own():
    forget()
    assert [one.name for one in extensions()] == OURS and len(OURS) >= 10
    assert not packages()


def test_others_come_after_ours_in_the_order_of_their_names(site):
    write_package(site, "zebra", record("aaa"), name="b")
    write_package(site, "aardvark", record("zzz"), name="c")
    write_package(site, "middle", record("mmm"), name="a")
    assert [one.name for one in extensions()] == [*OURS, "mmm", "aaa", "zzz"]
    assert packages() == ["middle", "zebra", "aardvark"]


def test_the_names_in_records_of_ours_are_all_there():
    """Of every hook of every extension, not of the first alone."""
    for one in extensions():
        for part in ("commands", "asking", "options", "pages", "phantoms"):
            assert all(map(named, getattr(one, part).values())), (one.name, part)
        for part in ("sources", "variants", "rows", "published", "replies"):
            assert all(map(named, getattr(one, part))), (one.name, part)
        assert all(added(path.rpartition(".")[2]).__module__ == path.rpartition(".")[0] for path in one.sections)
    assert named("json") is json and named("json:loads") is json.loads


BROKEN = {
    "raises": ("raise ValueError('first\\nsecond')", "ValueError: first second"),
    "ends": ("raise SystemExit(3)", "SystemExit: 3"),
    "raises what no handler expects": ("raise GeneratorExit('\\x1b[2J')", r"GeneratorExit: \u001b[2J"),
    "is not python": ("def", "SyntaxError: invalid syntax"),
    "lacks a package": ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
    "states none": ("x = 1", "AttributeError: module 'broken' has no attribute 'EXTENSION'"),
    "states a dictionary": ("EXTENSION = {}", "TypeError: expected EXTENSION to be an Extension, not of dict"),
    "has no name": (record(""), "ValueError: expected a name of letters, digits and hyphens, not ''"),
    "has two lines as its name": (record("a\nb"), "ValueError: expected a name of letters"),
    "has a text for a list": (record("b", sources="broken.source"), "TypeError: expected sources to be a sequence"),
    "has a list for a mapping": (record("b", phantoms=["x"]), "TypeError: expected phantoms to be a mapping"),
    "has a list for a text": (record("b", configs=["x"]), "TypeError: expected configs to be a str"),
    "is not there": ("", "ModuleNotFoundError: No module named 'broken'"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_one_that_cannot_be_imported_is_a_line_and_every_command_goes_on(site, capsys, how):
    text, reason = BROKEN[how]
    write_package(site, "broken", text, name="a")
    write_package(site, "sound", record("sound"), name="b")
    assert [cli.main(words) for words in (["--help"], [], ["--version"], ["list", "tasks"], ["weights"])] == [0] * 5
    said = capsys.readouterr()
    assert said.err.startswith(f"extension broken is left out: {reason}") and said.err.count("\n") == 1
    assert "\n  sound " in said.out and "\n  xpcr " in said.out
    assert [one.name for one in extensions()] == [*OURS, "sound"]


def test_what_it_prints_at_import_is_not_in_the_output_of_a_command(site, capsys):
    write_package(site, "loud", "print('loud')\n" + record("loud", rows=["loud_rows"]))
    (site / "loud_rows.py").write_text("print('rows')")
    assert cli.main(["--help"]) == 0 and len(list(loaded(joined("rows")))) > 1
    said = capsys.readouterr()
    assert said.err == "loud\nrows\n" and "\n  loud " in said.out and not {"loud", "rows"} & {*said.out.split("\n")}


def test_ctrl_c_in_an_import_ends_the_command(site):
    write_package(site, "broken", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        extensions()


@pytest.mark.parametrize("point", ["", "sound", ":EXTENSION", "sound:", "sound:NOTHING", "sound EXTENSION", "1+1"])
def test_an_entry_point_that_names_no_record_is_a_line(site, capsys, point):
    write_package(site, "sound", record("sound"), point=point or " ")
    assert cli.main(["--help"]) == 0
    said = capsys.readouterr().err
    assert said.startswith("extension ") and " is left out: " in said and said.count("\n") == 1


def test_one_of_ours_that_cannot_be_imported_is_a_line_too(site, capsys, monkeypatch):
    for name, text in (("bad", "import no_such_package"), ("good", record("good"))):
        (site / "extensions" / name).mkdir(parents=True)
        (site / "extensions" / name / "__init__.py").write_text(text)
    monkeypatch.setattr(extension, "PACKAGE", site)
    monkeypatch.setattr(lmod_train.extensions, "__path__", [str(site / "extensions")])
    assert [one.name for one in extensions()] == ["good"]
    assert capsys.readouterr().err.startswith("extension lmod_train.extensions.bad is left out: ModuleNotFoundError: ")


def test_a_received_folder_is_not_searched_for_extensions(tmp_path):
    """`python -m` puts the working folder on the search path first."""
    write_package(tmp_path, "evil", f"open({str(tmp_path / 'mark')!r}, 'w').close()\n{record('evil')}")
    environment = {**os.environ, "PYTHONPATH": str(extension.PACKAGE.parent)}
    command = [sys.executable, "-m", "lmod_train", "--help"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "evil" not in done.stdout + done.stderr and not (tmp_path / "mark").exists()


TWICE = {
    "ours and another": (["xpcr"], "lmod_train.extensions.xpcr and other_0", "other-0"),
    "two others": (["eyes", "more", "eyes"], "other_0 and other_2", "other-2"),
    "twice two": (["eyes", "more", "eyes", "more", "eyes"], "other_0 and other_2", "other-2"),
}


@pytest.mark.parametrize("which", TWICE)
def test_two_of_one_name_are_refused_by_every_command_and_named_by_the_help(site, capsys, which):
    names, both, package = TWICE[which]
    for n, name in enumerate(names):
        write_package(site, f"other_{n}", record(name))
    expected = f"extension='{names[0]}': expected extensions of different names, which {both} are not.\nNext: "
    for words in (["list", "tasks"], ["curate", "--help"], ["fit"], ["weights"], ["typo"], ["weights", "merge"]):
        assert cli.main(words) == 2
        said = capsys.readouterr()
        assert said.err == f"error: {expected}`pip uninstall {package}`\n" and not said.out
    for words in (["--help"], ["-h"], []):
        assert cli.main(words) == 0
        said = capsys.readouterr().out
        assert said.endswith(f"error of every other command: {expected}`pip uninstall {package}`\n")
        assert [said.count(f"\n  {name} ") for name in {*names}] == [1] * len({*names})
    with pytest.raises(BadArgument, match="different names"):
        extensions()


def clashing(site: Path, **more: object) -> None:
    """Install two strangers: the first has what is tested and a free name, the second the free name again."""
    write_package(site, "strange", record("strange", **more), name="a")
    write_package(site, "stranger", record("stranger", **more).replace("strange:", "stranger:"), name="b")


def said_of(capsys, part: str) -> list[tuple[str, str, str]]:
    """Return (extension, name, owner) of the lines about what was left out of a part of a record."""
    found = []
    for line in capsys.readouterr().err.splitlines():
        head, _, owner = line.removesuffix(" has one of that name").partition(f" of its {part} is left out, as ")
        who, _, name = head.removeprefix("extension ").partition(": ")
        found.append((who, name.strip("'"), owner))
    return found


TAKEN = {
    "curate": "the main path",
    "fit": "the main path",
    "report mine": "the main path",  # which a run folder of that name would call
    "weights": "weights",
    "weights merge": "weights",
    "judge": "drafting",
    "draft": "drafting",
    "draft ask": "drafting",
}


@pytest.mark.parametrize("part", ["commands", "asking"])
def test_a_command_that_is_taken_is_left_out_with_a_line(site, capsys, part):
    before, grouped = commands(), groups()
    forget()
    clashing(site, **{part: {**dict.fromkeys(TAKEN, "strange:nothing"), "draft more": "strange:EXTENSION"}})
    after = commands()
    expected = [("strange", name, owner) for name, owner in TAKEN.items()]
    expected += [("stranger", name, owner) for name, owner in [*TAKEN.items(), ("draft more", "strange")]]
    assert said_of(capsys, "commands") == expected
    assert after == {**before, "draft more": "strange:EXTENSION"}
    assert groups() == {**grouped, "draft": {**grouped["draft"], "more": "strange:EXTENSION"}}
    assert [asks(name) for name in ("curate", "weights merge", "draft more", "draft ask", "nothing")] == [
        *(False, False, part == "asking", True, False)
    ]
    assert commands() == after and not capsys.readouterr().err  # a line is written once
    assert cli.main(["--help"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in shown if line.startswith("  strange")] == [
        "strange        a test: draft more",
        "stranger       a test",
    ]


def test_an_option_that_is_taken_is_left_out_with_a_line(site, capsys):
    clashing(site, options=dict.fromkeys(["curate --out", "curate --table", "curate --new"], "json:loads"))
    name, function = chosen("curate", ["--out", "OUT"])
    assert (name, function.__module__) == ("curate", "lmod_train.cli.curation")
    assert said_of(capsys, "options") == [
        ("strange", "curate --out", "the main path"),
        ("strange", "curate --table", "table"),
        ("stranger", "curate --out", "the main path"),
        ("stranger", "curate --table", "table"),
        ("stranger", "curate --new", "strange"),
    ]
    assert chosen("curate", ["--table=T"])[1].__module__ == "lmod_train.extensions.table.command"
    assert chosen("curate", ["--new"]) == ("curate --new", json.loads)
    assert chosen("report", ["--new"])[0] == "report"


SECTION = """
from lmod_train.report.section import Section
class Metrics(Section):
    title, name = "Mine", "mine"
    def parts(self, results):
        yield from ()
class Chains(Metrics):
    name = "mine_too"
class SamePage(Metrics):
    name = "scores"
class SamePages(Metrics):
    name = "judges"
class Free(Metrics):
    name = "free"
"""


def test_a_section_and_a_page_that_are_taken_are_left_out_with_a_line(site, capsys):
    before = [type(one).__name__ for one in shipped_sections()]
    forget()
    names = ("Metrics", "Chains", "SamePage", "SamePages", "Free")
    clashing(site, sections={})
    for module in ("strange", "stranger"):
        more = {f"{module}.sections.{name}": "Scores" for name in names}
        (site / module / "__init__.py").write_text(record(module, sections=more))
        (site / module / "sections.py").write_text(SECTION)
    after = shipped_sections()
    assert [type(one).__name__ for one in after] == [before[0], "Free", *before[1:]]
    assert added("Free").__module__ == "strange.sections" and added("Chains").__module__.startswith("lmod_train.")
    assert added("Nothing") is None
    said = capsys.readouterr().err
    for who in ("strange", "stranger"):
        for name, owner in (("Metrics", "the main path"), ("Chains", "xpcr")):
            line = f"extension {who}: '{who}.sections.{name}' of its sections is left out, as {owner} has one"
            assert said.count(line) == 1
    assert said.count("left out, as strange has one") == 3  # SamePage, SamePages and Free of the second
    assert "section strange.sections.SamePage is left out, as one of the name 'scores' is shown" in said
    assert "section strange.sections.SamePages is left out, as one of the name 'judges' is shown" in said


def test_a_phantom_a_source_and_a_config_that_are_taken_are_left_out_with_a_line(site, capsys):
    found, drawn, files = source_classes(), drawn_folders(), config_files("task")
    forget()
    source = "from lmod_train.data.sources.refuge import Refuge\n"
    source += "".join(f"class {n.title()}(Refuge):\n    name = '{n}'\n" for n in ("refuge", "xpcr", "free"))
    more = {"phantoms": {"refuge": "json", "xpcr": "json", "free": "json"}}
    clashing(site)
    for module in ("strange", "stranger"):
        packed = {"sources": [f"{module}.source"], "configs": f"{module}.configs", **more}
        (site / module / "__init__.py").write_text(record(module, **packed))
        (site / module / "source.py").write_text(source)
        (site / module / "configs" / "task").mkdir(parents=True)
        for name in ("sex", "chain", "free"):
            (site / module / "configs" / "task" / f"{name}.yaml").write_text("")
    capsys.readouterr()
    taken = [("refuge", "the main path"), ("xpcr", "xpcr")]
    expected = [("strange", *one) for one in taken] + [("stranger", *one) for one in (*taken, ("free", "strange"))]
    after = source_classes()
    assert sorted(said_of(capsys, "sources")) == sorted(expected)
    assert after == {**found, "free": after["free"]} and after["free"].__module__ == "strange.source"
    assert drawn_folders() == {**drawn, "free": "json"}
    assert said_of(capsys, "phantoms") == expected
    assert config_files("task") == {**files, "free": site / "strange" / "configs" / "task" / "free.yaml"}
    taken = {who: {name: files[name] for name in ("chain", "sex")} for who in ("strange", "stranger")}
    taken["stranger"]["free"] = site / "strange" / "configs" / "task" / "free.yaml"
    assert sorted(capsys.readouterr().err.splitlines()) == sorted(
        f"{site / who / 'configs' / 'task' / name}.yaml is left out, as {file} has its name"
        for who, own in taken.items()
        for name, file in own.items()
    )
    assert shipped_as("configs/task/sex.yaml") == configs_folder() / "task" / "sex.yaml"
    assert (
        shipped_as("configs/task/free.yaml")
        == config_files("task")["free"]
        == config_at("configs/task/free.yaml", site)
    )
    assert config_folders()[-2:] == [site / "strange" / "configs", site / "stranger" / "configs"]
    assert "strange.source.Free" in listed_sources() and "stranger.source.Free" in listed_sources()


def test_what_cannot_be_imported_when_it_is_used_is_a_line_and_the_rest_is_there(site, capsys):
    parts = {part: ["gone:f", "json:gone", "json:loads"] for part in ("rows", "published", "replies", "variants")}
    write_package(
        site, "half", record("half", sources=["gone"], sections={"gone.X": "Scores"}, configs="gone.c", **parts)
    )
    assert json.loads in list(loaded(joined("rows")))
    assert [list(loaded(joined(part)))[-1] for part in parts] == [json.loads] * 4
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "gone:f of an extension is left out: ModuleNotFoundError: No module named 'gone'",
        "json:gone of an extension is left out: AttributeError: module 'json' has no attribute 'gone'",
    ]
    assert "refuge" in source_classes() and len(shipped_sections()) > 10 and "sex" in config_files("task")
    assert added("X") is None
    said = capsys.readouterr().err.splitlines()
    assert {line.partition(" of an")[0].partition(": its")[0] for line in said} == {"gone", "extension half", "gone:X"}
    assert len(said) == 3


def test_a_command_that_cannot_be_imported_is_refused_and_its_group_explained(site, capsys):
    write_package(site, "half", record("half", commands={"half a": "half.gone:a", "half b": "json:loads"}))
    assert cli.main(["half", "--help"]) == 0
    said = capsys.readouterr()
    assert "  b  Deserialize ``s``" in said.out and said.err.startswith("half.gone:a of an extension is left out: ")
    assert cli.main(["half", "a", "--help"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        "error: command='half a': expected half.gone:a to be a function that can be imported.\nNext: "
    )
    assert "`pip show half`" in said


def test_parts_of_records_are_put_together_in_order(site):
    write_package(site, "one", record("one", rows=["a:x", "a:y"], pages={"p": "a:p"}, phantoms={"k": "m"}), name="a")
    write_package(site, "two", record("two", rows=["b:x"], pages={"q": "b:q"}, phantoms={"kk": "n"}), name="b")
    assert joined("rows")[-3:] == ["a:x", "a:y", "b:x"]
    assert list(merged("pages").items())[-2:] == [("p", "a:p"), ("q", "b:q")]
    assert [*merged("phantoms").items()][-2:] == [("k", "m"), ("kk", "n")] == [*one_of("phantoms")]
    assert [*one_of("phantoms", taken=["k"])] == [("kk", "n")]
    assert [*one_of("phantoms", key=lambda name: name[0])] == [("k", "m")]


def one_of(part: str, **how: object) -> Iterator[tuple[str, str]]:
    """Yield what is not ours."""
    yield from ((name, value) for name, value in merged(part, **how).items() if not value.startswith("lmod_train."))


def test_an_absent_extension_is_named_by_the_class_path():
    assert absent("lmod_train.extensions.gone.deep.er.Lens") == "gone" == absent("lmod_train.extensions.gone")
    assert [absent(p) for p in ("lmod_train.extensions.xpcr.tasks.Chain", "lmod_train.extensionsx.y.Z", "a.B", "")] == [
        ""
    ] * 4
