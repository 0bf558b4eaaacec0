"""Rows of attacks: one per judge and attack, each with the verdict that the attack deserves."""

from pathlib import Path

from lmod_train.extensions.drafting.judgement import ATTACK
from lmod_train.extensions.drafting.judges import attack_rows
from lmod_train.report.results import read_outcomes
from lmod_train.tasks.rescore import rescore
from lmod_train.tasks.run_scores import read_run_scores
from tests.judged import make_attacks, make_judge, make_run, records


def test_a_row_holds_the_success_of_one_attack(tmp_path: Path):
    run = make_run(tmp_path / "run", ["pale"] * 4)
    make_judge(run, "gpt", {r.id: "FALSE" for r in records(4)})
    make_attacks(
        run, "gpt", lambda r: {"praise": "TRUE", "with_praise": "TRUE", "empty": "?"}.get(r.tags[ATTACK], "FALSE")
    )
    rescore(run.folder)
    rows = {r.attack: r for r in attack_rows(read_run_scores([run.folder]), {"m": read_outcomes(run.folder)})}
    assert [*rows][:2] == ["empty", "question_repeated"] and len(rows) == 9
    assert {(r.task, r.run, r.judge) for r in rows.values()} == {("conversation", "m", "gpt")}
    assert (rows["praise"].success.value, rows["praise"].to_right) == (1.0, None)
    assert rows["praise"].kind == "instead of the reply: wrong"
    assert (rows["empty"].success.n, rows["empty"].unjudged.value) == (0, 1.0)
    assert (rows["with_praise"].to_right.value, rows["with_praise"].kind) == (1.0, "added to the reply")
    assert attack_rows(read_run_scores([run.folder])[:0], {}) == []
