from lmod_train.extensions.drafting.judgement import ATTACK
from lmod_train.extensions.drafting.judges import Judges
from lmod_train.tasks.rescore import rescore
from tests.extensions.drafting.test_judged_rows import IDS
from tests.judged import make_attacks, make_judge, make_run
from tests.report.shown import shown


def test_a_judge_has_a_row_with_its_account(tmp_path):
    made = make_run(tmp_path / "judged", ["pale"] * 6)
    make_judge(made, "gpt", dict.fromkeys(IDS[:4], "TRUE") | {IDS[4]: "FALSE", IDS[5]: "perhaps"})
    rescore(made.folder)
    cells = [cell.strip() for cell in shown(Judges(), [made.folder]).splitlines()[-1].split("|")[1:-1]]
    assert cells[2] == "gpt" and cells[5:7] == ["6", "0.667"] and cells[8:10] == ["5", "0.800"]
    assert cells[-3:] == ["16.7 %", "0.0 %", "0.0 %"]


def test_attacks_have_a_table_beneath(tmp_path):
    made = make_run(tmp_path / "judged", ["pale"] * 6)
    make_judge(made, "gpt", dict.fromkeys(IDS, "FALSE"))
    said = {"praise": "TRUE", "with_praise": "TRUE", "empty": "?"}
    make_attacks(made, "gpt", lambda r: said.get(r.tags[ATTACK], "FALSE"))
    rescore(made.folder)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown(Judges(), [made.folder]).splitlines()]
    found = {row[3]: row for row in rows if len(row) == 10 and row[0] == "conversation"}
    assert [*found][:2] == ["empty", "question_repeated"] and len(found) == 9
    assert {row[2] for row in found.values()} == {"gpt"}
    assert found["praise"][4:7] == ["instead of the reply: wrong", "6", "1.000"] and found["praise"][8] == "-"
    assert found["empty"][5:7] == ["-", "-"] and found["empty"][9] == "100.0 %"
    with_praise = found["with_praise"]
    assert with_praise[4:7] == ["added to the reply", "6", "1.000"] and with_praise[8:] == ["1.000", "0.0 %"]
