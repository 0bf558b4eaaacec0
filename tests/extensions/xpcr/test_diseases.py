"""Data set, disease and category of chains: tags of their records, subsets of their scores, and Tables 1 and 2."""

from dataclasses import replace

import pytest

from lmod_train.core.tables import Table
from lmod_train.data.sources.discovery import source_classes
from lmod_train.extensions.xpcr.questions import dataset_of, dataset_tags, disease_tags, table_of, words
from lmod_train.extensions.xpcr.release_tables import questions_of
from lmod_train.extensions.xpcr.sections import SourcesAndDiseases
from lmod_train.extensions.xpcr.stages import STAGE_NAMES
from lmod_train.extensions.xpcr.tasks import Chain
from lmod_train.report.results import Results
from tests.extensions.xpcr.samples import cupped, flagged, lens, scan
from tests.report.chained import answered, asked, chain_run, results_of

NAMED = {row[key]: row for row in table_of("taxonomy") for key in ("full_name", "abbreviation")}


@pytest.mark.parametrize("name", NAMED)
def test_every_disease_is_known_by_both_of_its_names(name):
    row = NAMED[name]
    assert disease_tags([name.upper()]) == {"disease": row["full_name"], "category": row["category"]}


@pytest.mark.parametrize(
    ("names", "tags"),
    [
        ([], {}),
        (["macular hole", "yes"], {}),
        (["diabetic retinopathy", "PDR"], {"disease": "Proliferative diabetic retinopathy", "category": "DR"}),
        (["PDR", "Mild-NPDR"], {"category": "DR"}),
        (["PDR", "NTG"], {}),
        (["no glaucoma"], {}),
        (["DR", "CAT"], {}),
    ],
)
def test_names_of_several_diseases_are_no_disease(names, tags):
    assert disease_tags(names) == tags


@pytest.mark.parametrize("row", table_of("sources"), ids=lambda row: row["index"])
def test_the_data_set_is_that_of_the_path(row):
    name = f"{row['index']} {row['dataset']}"
    assert dataset_tags(f"CFP/{name}/a/1.jpg") == {"dataset": name} == dataset_tags(f"x\\{name.lower()}\\1.jpg")
    assert dataset_tags(f"CFP/99 {row['dataset']}/1.jpg") == {} == dataset_tags(f"CFP/{name}x/1.jpg")


@pytest.mark.parametrize(
    ("sample", "tags"),
    [
        (flagged("3"), {"disease": "Severe non-proliferative diabetic retinopathy", "category": "DR"}),
        (flagged("0"), {"disease": "No diabetic retinopathy", "category": "DR"}),
        (flagged("3", **{"hypertensive retinopathy": "yes"}), {}),
        (flagged("3", vascular_occlusion="yes"), {}),
        (flagged("0", vascular_occlusion="yes"), {}),
        (flagged("0", nevus="yes"), {}),
        (flagged("2", nevus="yes"), {"disease": "Moderate non-proliferative diabetic retinopathy", "category": "DR"}),
        (cupped(0.7), {"category": "GLA"}),
        (cupped(0.7, glaucoma="no"), {}),
        (lens(), {"category": "CAT"}),
        (scan(), {}),
    ],
)
def test_own_chains_have_what_their_labels_name(sample, tags):
    made = list(Chain(perturbed=0.0).ask(sample))
    assert made
    for question in made:
        assert {key: question.tags[key] for key in ("disease", "category") if key in question.tags} == tags


@pytest.mark.parametrize(
    ("source", "dataset"),
    [("refuge", "21 REFUGE"), ("oimhs", "48 OIMHS"), ("idrid", "37 IDRiD"), ("fairseg", "24 Harvard-FairSeg")],
)
def test_own_chains_of_a_source_of_table_1_have_its_data_set(source, dataset):
    assert source in source_classes() and dataset_of(source) == {"dataset": dataset}
    assert [q.tags["dataset"] for q in Chain(perturbed=0.0).ask(replace(cupped(0.7), source=source))]
    assert dataset_of("brset") == dataset_of("clinic") == {}


def pair(stage, answer):
    options = [answer, "other", "third"]
    return {
        "category": stage,
        "question": f"Which?\nOptions: {options}",
        "answer": answer,
        "question_type": "single choice",
    }


def test_all_questions_of_a_released_row_have_its_data_set_and_the_disease_of_its_diagnosis():
    pairs = [pair("IQA", "good"), pair("DD", "Primary angle-closure glaucoma"), pair("CD", "treat")]
    path = "CFP/1 ACRIMA/Im001.jpg"
    made, _ = questions_of("xpcr", "cfp_1", pairs, words(None, None, None, None, None), "drop", path)
    own = {"dataset": "1 ACRIMA", "disease": "Primary angle-closure glaucoma", "category": "GLA"}
    assert [question.chain_step for question in made] == ["IQA", "DD", "CD"]
    assert all(own.items() <= question.tags.items() for question in made)


def chains():
    """Four real cases of which the first three have tags: two of one disease, of which one is answered wrongly."""
    of = [{"category": "DR", "disease": "Proliferative diabetic retinopathy", "dataset": "1 ACRIMA"}] * 2
    of += [{"category": "GLA"}, {}]
    for case, tags in enumerate(of):
        for stage in STAGE_NAMES:
            yield answered(
                asked(case, stage, tags=dict(tags), image_sha256=(f"{case}",)), "alpha" if case == 1 else "beta"
            )


def test_scores_have_subsets_of_them_and_the_tables_their_numbers():
    run = chain_run("run", list(chains()))
    swa = {s.subset: s.value for s in run[0].scores if s.metric == "swa_mean"}
    assert swa["disease=Proliferative diabetic retinopathy"] == swa["category=DR"] == swa["dataset=1 ACRIMA"] == 0.5
    assert swa["category=GLA"] == 1.0 and swa["all"] == 0.75
    one, two = (p.rows for p in SourcesAndDiseases().parts(results_of(run)) if isinstance(p, Table))
    assert len(one) == 50 and one[0] == (
        "1 ACRIMA",
        705,
        "FISABIO Oftalmologia Medica",
        "Glaucoma classification",
        2,
        12,
    )
    assert one[-1] == ("not known", None, None, None, 2, 12)
    held = {row[:2]: row[2:] for row in two}
    assert held["DR", "Proliferative diabetic retinopathy"] == (629, 3564, 2, 12)
    assert held["GLA", "not known"] == (None, None, 1, 6) and held["not known", "not known"] == (None, None, 1, 6)
    assert sum(row[-1] for row in two) == 24


def test_printed_tables_alone_without_runs():
    one, two = (p.rows for p in SourcesAndDiseases().parts(Results((), {}, {})) if isinstance(p, Table))
    assert (len(one), len(two)) == (49, 52) and sum(row[2] for row in two) == 26_415
