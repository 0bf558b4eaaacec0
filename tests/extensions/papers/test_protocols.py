"""The score of this package that a printed number is compared with, and what is known of its items."""

import pytest

from lmod_train.extensions.papers.ledger import protocol_of
from lmod_train.extensions.papers.printed import PAPERS, Printed, find, printed
from lmod_train.tasks import age_group, anatomy, bilingual, conditions, four_way, glaucoma, sex, staging
from lmod_train.tasks.wordings import digest_of
from tests.tabled import stored


@pytest.mark.parametrize(
    ("paper", "table", "fields", "ours"),
    stored(__file__, "protocols.what_a_cell_is_compared_with"),
)  # fmt: skip
def test_what_a_cell_is_compared_with(paper, table, fields, ours):
    (cell,) = find(paper, table, **fields)
    found = protocol_of(cell)
    assert (found.task, found.metric, found.subset, found.n, found.balanced) == ours and found.split == "all"


PRINTED = {
    ("lmod_naacl", "anatomy"): [anatomy.PROMPTS["lmod_v1"]],
    ("lmod_naacl", "glaucoma"): [glaucoma.PROMPT],
    ("lmod_naacl", "macular_hole_stage"): [staging.PROMPTS["lmod_naacl"], staging.PROMPTS["lmod_naacl_example"]],
    ("lmod_v1", "anatomy"): [anatomy.PROMPTS["lmod_v1"]],
    ("lmod_v1", "glaucoma"): [glaucoma.PROMPT],
    ("lmod_v1", "macular_hole_stage"): [staging.PROMPTS["lmod_v1"]],
    ("lmod_v1", "sex"): [sex.PROMPTS["lmod_v1"]],
    ("lmod_v1", "age_group"): [age_group.PROMPTS["lmod_v1"]],
    ("lmod_plus", "anatomy"): [anatomy.PROMPTS["lmod_plus"]],
    ("lmod_plus", "conditions"): [conditions.PROMPT],
    ("lmod_plus", "four_way"): [four_way.PROMPT],
    **{("lmod_plus", scale): [staging.PROMPTS["lmod_plus"]] for scale in ("macular_hole_stage", "icdr", "sdrg")},
    ("lmod_plus", "sex"): [sex.PROMPTS["lmod_plus"]],
    ("lmod_plus", "age_group"): [age_group.PROMPTS["lmod_plus"]],
    ("ophthalwechat", "binary_question"): list(bilingual.BINARY.values()),
    ("ophthalwechat", "single_choice_question"): list(bilingual.SINGLE_CHOICE.values()),
    ("ophthalwechat", "open_question"): list(bilingual.OPEN.values()),
}
"""Paper and task -> the prompts that the paper prints, word for word in the test of each task."""


def test_the_words_of_a_cell_are_the_prompts_of_its_paper():
    several = [(c, p) for paper in PAPERS for c in printed(paper) if (p := protocol_of(c)) and p.names]
    found = {(c.paper, p.task): p.words for c, p in several if p.words}
    assert {key: set(words) for key, words in found.items()} == {
        key: set(map(digest_of, prompts)) for key, prompts in PRINTED.items()
    }
    assert all(p.words == found.get((c.paper, p.task), {}) for c, p in several)
    assert all(all(words.values()) for words in found.values() if len(words) > 1), "where each of several is printed"
    without = {c.paper for c, p in several if not p.words}
    assert without == {"xpcr", "ophthalwechat_journal"}
    assert all(
        "words around question and options are not printed" in p.unknown for c, p in several if c.paper == "xpcr"
    )


def test_the_images_of_the_sources_of_a_cell_are_as_many_as_its_items():
    several = [p for paper in PAPERS[:3] for c in printed(paper) if (p := protocol_of(c)) and p.sources]
    assert len(several) > 600 and all(sum(p.sources.values()) == p.n for p in several)
    assert {tuple(p.sources.items()) for p in several if p.n == 516} == {(("idrid", 516),)}


def test_a_stage_of_a_modality_is_asked_among_all_stages_of_the_modality():
    cells = [c for number in range(3, 9) for c in find("xpcr", f"Table {number}", model="GPT-5")]
    asked = {(c.modality, protocol_of(c).asked) for c in cells}
    assert len(cells) == 36 and asked == {(m, f"modality={m}") for m in ("EP", "CFP", "RetCam", "FFA", "ICGA", "OCT")}


def test_a_stage_is_asked_among_all_stages():
    found = protocol_of(Printed("lmod_plus", "Table 5", "x", "icdr_staging", "ICDR", "CFP", "stage 3", "f1"))
    assert (found.subset, found.asked, found.names) == ("stage=3", "all", ("lmod_plus",))


def test_cells_that_no_score_here_is_defined_as():
    without = {(c.paper, c.table, c.task) for p in PAPERS[:3] for c in printed(p) if protocol_of(c) is None}
    assert {task for _, _, task in without} == {
        "dataset_statistics", "subgroup_age_p", "subgroup_sex_p", "staging_overall", "error_type_share",
    }  # fmt: skip
    of_stages = [("xpcr", f"Table {number}") for number in range(2, 9)]
    others = [c for paper in PAPERS[3:] for c in printed(paper) if (c.paper, c.table) not in of_stages]
    without = [c for c in others if not _is_of_closed_questions(c) and c.metric not in ("bleu1", "bertscore")]
    assert without and all(protocol_of(c) is None for c in without)


def _is_of_closed_questions(cell):
    return cell.task.startswith(("vqa_binary", "vqa_single_choice")) and cell.metric == "accuracy"


@pytest.mark.parametrize(
    ("paper", "table", "subset", "metric", "task", "ours", "language"),
    stored(__file__, "protocols.subsets_of_ophthalwechat_are_languages_of_a_task"),
)
def test_subsets_of_ophthalwechat_are_languages_of_a_task(paper, table, subset, metric, task, ours, language):
    for cell in find(paper, table, dataset_or_subset=subset, metric=metric):
        found = protocol_of(cell)
        assert (found.task, found.metric, found.subset, found.asked) == (task, ours, *[f"language={language}"] * 2)
        assert "not stated" in found.unknown


def test_every_cell_of_the_table_of_chains_is_scored_here_and_the_regime_is_not_stated():
    found = [protocol_of(c) for c in find("xpcr", "Table 2")]
    assert len(found) == 24 * 14 and {p.names for p in found} == {("xpcr",)}
    assert all("alone or with earlier answers" in p.unknown for p in found)


def test_the_images_of_the_modalities_are_those_of_the_papers():
    for cell in find("lmod_plus", "Table 2", metric="num_images"):
        of = Printed("lmod_plus", "Table 4", "x", "anatomical_recognition", modality=cell.modality, metric="f1")
        assert protocol_of(of).n == int(cell.value)
