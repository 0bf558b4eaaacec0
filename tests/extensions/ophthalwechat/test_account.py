"""The paper's counts that the account stands beside are those of the table of printed results."""

import csv
from collections import Counter
from pathlib import Path

from lmod_train.core.types import Question, Sample
from lmod_train.core.vocabulary.modalities import unknown_words
from lmod_train.extensions import papers
from lmod_train.extensions.ophthalwechat.source import account, printed
from lmod_train.extensions.ophthalwechat.words import SUBSPECIALTIES
from lmod_train.tasks.prompt import prompt


def table():
    with (Path(papers.__file__).parent / "ophthalwechat.csv").open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def test_printed_counts():
    of_images = [r for r in table() if r["table"] == "Supplementary Table 6"]
    rows = [int(r["value"]) for r in of_images if r["modality"] not in ("", "all")]
    assert Counter(printed()["modalities"].values()).total() == len(rows) - 1  # CFP+Slitlamp stands twice
    assert sum(printed()["modalities"].values()) == sum(rows) == printed()["images"]["all"] == 3469
    assert printed()["modalities"]["CFP+Slit-lamp"] == 2 + 3
    shares = {r["stage_or_class"]: float(r["value"]) for r in table() if r["metric"] == "share_of_images"}
    assert printed()["subspecialties"] == shares == {t.name: float(t.reference) for t in SUBSPECIALTIES}
    totals = {r["dataset_or_subset"]: int(r["value"]) for r in table() if r["metric"] == "num_qa_pairs"}
    assert printed()["questions"] == {
        "all": totals["all tasks"],
        "close-ended": totals["close-ended tasks"],
        "open zh": totals["Open-ended_CN"],
        "open en": totals["Open-ended_EN"],
    }


def test_modalities_of_the_paper_are_of_the_vocabulary_but_for_the_unexplained_one():
    unknown = [name for name in printed()["modalities"] if unknown_words(name)]
    assert len(unknown) == 2 and all("SS" in name for name in unknown)
    single = [name for name in printed()["modalities"] if "+" not in name]
    assert (len(single), printed()["combinations"]) == (29, {"single": 29, "combined": 68})


def sample(key, modality, subspecialty, *kinds):
    asked = [
        Question(task, prompt("?"), (), "a", language, variant=f"1-{language}", tags={"subspecialty": subspecialty})
        for task, language in kinds
    ]
    return Sample("ophthalwechat", key, modality, None, key, "", asked=tuple(asked))


def test_what_is_here_beside_the_paper():
    samples = [
        sample("1", "CFP", "Glaucoma", ("binary_question", "zh"), ("binary_question", "en")),
        sample("2", "CFP", "Uveitis", ("open_question", "zh")),
        sample("3", "", "Uveitis", ("single_choice_question", "en")),
    ]
    found = account(samples)
    assert found["questions"]["all"] == {"here": 4, "paper": 30120}
    assert found["questions"]["close-ended"] == {"here": 3, "paper": 21350}
    assert found["questions"]["open en"] == {"here": 0, "paper": 4385}
    assert found["subspecialties"]["Uveitis"] == {"here": 66.7, "paper": 3.5}
    assert found["modalities"]["CFP"] == {"here": 2, "paper": 689}
    assert found["modalities"]["not known"] == {"here": 1, "paper": None}
    assert found["combinations"] == {"single": {"here": 1, "paper": 29}, "combined": {"here": 0, "paper": 68}}
    assert account([])["images"] == {"here": 0, "paper": 3469}
