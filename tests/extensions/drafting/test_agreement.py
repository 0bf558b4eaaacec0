from lmod_train.extensions.drafting.judges import Agreement
from lmod_train.tasks.rescore import rescore
from tests.extensions.drafting.test_judged_rows import IDS
from tests.judged import make_judge, make_run
from tests.report.shown import shown


def test_two_judges_have_a_row_with_their_agreement(tmp_path):
    made = make_run(tmp_path / "judged", ["pale"] * 6)
    make_judge(made, "ada", dict.fromkeys(IDS, "TRUE"))
    make_judge(made, "gpt", dict.fromkeys(IDS[:4], "TRUE") | dict.fromkeys(IDS[4:], "FALSE"))
    rescore(made.folder)
    cells = [cell.strip() for cell in shown(Agreement(), [made.folder]).splitlines()[2].split("|")[1:-1]]
    assert cells[2:7] == ["all", "ada", "gpt", "6", "0.667"]
