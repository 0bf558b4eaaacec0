"""A run's model is found in the papers by any of its names, and never taken for another."""

import pytest

from lmod_train.core.artifacts.model_facts import known_models
from lmod_train.extensions.papers.printed import NO_MODEL, PAPERS, canonical_names, models_of_run, printed, row_facts
from tests.tabled import stored

PEOPLE = {"Residents", "Attendings", "Specialists"}


@pytest.mark.parametrize(
    ("name", "model"),
    stored(__file__, "models.models_of_runs"),
)
def test_models_of_runs(name, model):
    assert models_of_run(name) == ({model} if model else set())


def test_a_model_with_another_name_in_another_paper_is_both():
    both = {"Qwen2.5-VL-7B", "Qwen-7B"}
    assert models_of_run("Qwen/Qwen2.5-VL-7B-Instruct") == models_of_run("qwen2_5_vl_7b") == both
    assert models_of_run("QWen-7B") == {"Qwen-7B"}


def test_every_row_of_a_model_has_a_name_and_facts():
    rows = {(c.paper, c.model) for paper in PAPERS for c in printed(paper)}
    classifiers = {("lmod_naacl", "NNC"), ("lmod_plus", "CNN")}
    expected = {r for r in rows if r[1] not in (*NO_MODEL, *PEOPLE)} - classifiers
    assert expected <= canonical_names().keys() and expected <= row_facts().keys()


def test_the_rows_of_one_config_are_one_model_in_each_paper():
    for facts in known_models():
        for paper, row in facts.published.items():
            assert len({canonical_names()[paper, name] for name in row.rows}) == 1
            assert canonical_names()[paper, row.rows[0]] in models_of_run(facts.name)
