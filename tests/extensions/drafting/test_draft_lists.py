"""Tables of drafts: exact counts of every check, and untrusted text that no spreadsheet takes for a formula."""

from __future__ import annotations

from pathlib import Path

from lmod_train.core.types import Prediction, Reply, Unparsed
from lmod_train.data.formats.spreadsheet import Table
from lmod_train.extensions.drafting.checks import NAMES, faults_of
from lmod_train.extensions.drafting.drafts import drafted_of
from lmod_train.extensions.drafting.review import CHECKS, DRAFTS, FAULTS, UNREAD, counts, lines, write_lists
from tests.drafted import drafting_records, good, with_wrong


def predictions() -> list[Prediction]:
    """Return six drafts: one with two faults of a check, one without a draft, one with a formula."""
    found = [Prediction(r, Reply(r.id, ""), good(r).text) for r in drafting_records(1)]
    stages = [p.record.chain_step for p in found]
    dd, sg = stages.index("DD"), stages.index("SG")
    bad = with_wrong(with_wrong(good(found[dd].record), "=1+1 flurb"), "=1+1 flurb")
    found[dd] = Prediction(found[dd].record, found[dd].reply, bad.text)
    found[sg] = Prediction(found[sg].record, found[sg].reply, Unparsed("no_match", "@cmd no Question"))
    return found


def test_counts_are_of_drafts_and_not_of_faults():
    given = predictions()
    faults = faults_of(drafted_of(given))
    rows = {(check, stage): n for check, stage, _, n in counts(faults, given) if n}
    assert rows == {("vocabulary", "DD"): 1, (UNREAD, "SG"): 1}
    assert len(counts(faults, given)) == 6 * (len(NAMES) + 1)
    assert next(iter(lines(faults, given))) == "4 of 6 drafts pass all checks"
    assert list(lines([], [])) == ["0 of 0 drafts pass all checks"]


def test_tables_hold_no_formula_and_are_read_back(tmp_path: Path):
    given = predictions()
    drafts = drafted_of(given)
    write_lists(tmp_path, drafts, faults_of(drafts), given)
    drafted = Table("x", "drafts", ("id", "options", "faults")).read(tmp_path / DRAFTS)
    assert [row["faults"] for _, row in drafted].count("vocabulary") == 1
    for name in (DRAFTS, FAULTS, CHECKS):
        text = (tmp_path / name).read_text(encoding="utf-8-sig")
        assert not [line for line in text.splitlines() if line.startswith(("=", "@")) or ",=" in line or ",@" in line]
