"""Only what is listed passes, once for each line that lists it."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmod_train.core.errors import BadArgument, StrictDrops
from lmod_train.core.types import Dropped
from lmod_train.data.curation.accepted import Refusal, named, outdated, read_accepted, refused
from lmod_train.data.curation.manifest_files import read_dropped, write_dropped
from tests.tabled import tabled

NAMED = ("refuge", "val/V0001", "missing mask")
drops = st.builds(
    Dropped,
    st.sampled_from(["refuge", "idrid"]),
    st.sampled_from(["a", "=a;b", 'x"y,z', "- -", "ä\n", "+1"]),
    st.just("a.jpg"),
    st.just("read"),
    st.sampled_from(["missing mask", "stray file"]),
    st.text(max_size=5),
    st.sampled_from(["gone", "part"]),
)


@given(st.lists(drops, max_size=6), st.lists(drops, max_size=4))
def test_a_copied_listing_lets_itself_pass_and_nothing_more(tmp_path_factory, listed, new):
    file = tmp_path_factory.mktemp("listing") / "dropped.csv"
    write_dropped(file, listed, {})
    assert sorted(map(repr, read_dropped(file))) == sorted(map(repr, listed))
    accepted = read_accepted(file)
    assert refused(listed, accepted) == [] and outdated(listed, accepted) == []
    assert Counter(map(named, refused([*listed, *new], accepted))) == Counter(map(named, new))
    assert Counter(outdated(new, accepted)) == Counter(map(named, listed)) - Counter(map(named, new))


@tabled(
    "text",
    [
        "source,key,file,step,reason,extent,detail\nrefuge,val/V0001,.,read,missing mask,part,\n",
        "\ufeffReason;Key;Source\r\nmissing mask ; val/V0001;refuge\r\n\r\n;;\r\n",
        "refuge,val/V0001,missing mask\n",
        "refuge\tval/V0001\tmissing mask",
    ],
)
def test_tables_and_lines_are_read(tmp_path, text):
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    assert read_accepted(tmp_path / "a.csv") == {NAMED: 1}


def test_an_empty_file_accepts_nothing(tmp_path):
    (tmp_path / "a.csv").write_text("\n")
    assert read_accepted(tmp_path / "a.csv") == {}


@pytest.mark.parametrize("text", ["refuge,val\n", "source,key,reason\nrefuge,val\n", "\x81\x8d"])
def test_what_cannot_be_read_says_what_is_expected(tmp_path, text):
    (tmp_path / "a.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(BadArgument, match="the columns source, key and reason"):
        read_accepted(tmp_path / "a.csv")


def test_refusal_names_the_new_ones_alone():
    one, other = Dropped("refuge", "val/V0001", ".", "read", "missing mask"), Dropped("idrid", "C", ".", "read", "gone")
    Refusal(False, Counter()).raise_for([one], Path("out/dropped.csv"))
    Refusal(True, Counter([NAMED])).raise_for([one], Path("out/dropped.csv"))
    with pytest.raises(StrictDrops, match="idrid read gone: 1; refuge read missing mask: 1"):
        Refusal(True, Counter([NAMED])).raise_for([one, one, other], Path("out/dropped.csv"))
