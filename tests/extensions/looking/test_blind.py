import random
from dataclasses import replace

from sklearn.metrics import accuracy_score

from lmod_train.core.types import Box, Region
from lmod_train.extensions.looking.blind import Blind, blind
from tests.tabled import tabled
from tests.tiny import record

WORDS = ("GLAUCOMA", "NON-GLAUCOMA")


def questions(n, answer_of, text_of=lambda i: "Does this eye have glaucoma?", task="glaucoma"):
    splits = ("train", "train", "train", "val", "test")
    return [
        record(
            f"{task}/s/{i}",
            **{"task": task, "source": "s", "key": str(i), "choices": WORDS, "split": splits[i % 5]},
            text=text_of(i),
            answer=answer_of(i),
        )
        for i in range(n)
    ]


def balanced(i):
    return WORDS[random.Random(i).random() < 0.5]


def test_an_honest_task_stays_at_chance():
    (one,) = blind(questions(600, balanced))
    assert (one.task, one.n, one.classes, one.chance) == ("glaucoma", 240, 2, 0.5)
    assert one.low < 0.5 < one.high and one.accuracy == one.prior and not one.leaks


def test_a_frequent_answer_is_no_leak_but_a_telling_word_is():
    (rare,) = blind(questions(600, lambda i: WORDS[i % 7 > 0]))
    assert rare.accuracy == rare.prior and 0.8 < rare.prior < 0.9 and not rare.leaks
    (told,) = blind(questions(600, balanced, lambda i: f"Photograph {balanced(i)[0]}: does this eye have glaucoma?"))
    assert told.accuracy == 1.0 == told.high and told.leaks
    (half,) = blind(questions(600, balanced, lambda i: f"Seen {balanced(i - i % 3)[0]}: glaucoma?"))
    assert half.leaks and 0.5 < half.accuracy < 1


def test_of_lettered_options_the_text_is_the_answer():
    def lettered(telling):
        found = []
        for i, one in enumerate(questions(600, balanced)):
            rng = random.Random(i)
            options = rng.sample(["drusen", "scar"], 2)
            truth = ("drusen", "scar")[i // 5 % 2 if telling else rng.random() < 0.5]
            asked = f"Question {i // 5 % 2}.\nA. {options[0]}\nB. {options[1]}\nAnswer with the letter of one option."
            answer = f"Answer: {'AB'[options.index(truth)]}"
            found.append(
                record(
                    one.id, task="t", key=one.key, choices=tuple(options), split=one.split, text=asked, answer=answer
                )
            )
        return blind(found)[0]

    even, told = lettered(telling=False), lettered(telling=True)
    assert (even.classes, even.chance) == (2, 0.5) and not even.leaks and abs(even.prior - 0.5) < 0.1
    assert told.accuracy > told.prior, "the text of the right option follows from the question's words"


def test_region_ids_that_tell_the_structure_are_found():
    def regions(i, told):
        order = ["optic disc", "optic cup"] if told or random.Random(i).random() < 0.5 else ["optic cup", "optic disc"]
        return tuple(Region(name, Box(0, 0, 9, 9), place) for place, name in enumerate(order, 1))

    for told in (False, True):
        records = [replace(r, task="anatomy", regions=regions(i, told)) for i, r in enumerate(questions(400, balanced))]
        (one,) = blind(records)
        assert (one.n, one.classes, one.leaks) == (320, 2, told)
        assert one.accuracy == 1.0 if told else abs(one.accuracy - 0.5) < 0.1


def test_a_place_in_the_reference_reply_that_tells_the_structure_is_found():
    def shuffled(i, told):
        rng = random.Random(i)
        ids = rng.sample(range(1, 90), 2)  # they tell nothing
        order = ["optic disc", "optic cup"] if told or rng.random() < 0.5 else ["optic cup", "optic disc"]
        regions = tuple(Region(name, Box(0, 0, 9, 9), place) for place, name in zip(ids, order, strict=True))
        return tuple(sorted(regions, key=lambda r: r.id)), "\n".join(f"Region ID: {r.id}; Type: x" for r in regions)

    for told in (False, True):
        records = []
        for i, r in enumerate(questions(400, balanced)):
            regions, answer = shuffled(i, told)
            records.append(replace(r, task="anatomy", regions=regions, answer=answer))
        (one,) = blind(records)
        assert (one.n, one.leaks) == (320, told)
        assert one.accuracy == 1.0 if told else abs(one.accuracy - 0.5) < 0.1


def test_names_are_tried_apart_and_are_no_verdict():
    honest = questions(300, balanced)
    assert 0.3 < blind(honest)[0].names < 0.7
    for told in (
        [replace(r, key=f"{r.answer}-{r.key}", id=f"glaucoma/s/{r.answer}-{r.key}") for r in honest],
        [replace(r, image=(f"images/{r.answer.lower()}/{r.key}.jpg",)) for r in honest],
    ):
        (one,) = blind(told)
        assert one.names == 1.0 and not one.leaks and one.accuracy == one.prior


@tabled(("n", "prior", "tells"), [(1, 0.5, False), (30, 0.5, False), (40, 0.5, True), (40, 1.0, False)])
def test_what_cannot_be_found_is_not_told(n, prior, tells):
    """Of a coin, P(X >= 21 of 30) is 0.021 and P(X >= 28 of 40) 0.008; nobody leads a guess that is always right."""
    assert Blind("t", n, 2, prior, 0.0, 1.0, prior, 0.5, 1.0, 0.5).can_tell is tells


def test_each_task_alone_and_nothing_to_try():
    assert blind([]) == []
    only = [replace(r, split="train") for r in questions(20, balanced, task="sex")]
    found = blind([*questions(100, balanced), *only])
    assert [(one.task, one.n) for one in found] == [("glaucoma", 40), ("sex", 0)]
    assert found[1].accuracy is found[1].names is None and not found[1].leaks and not found[1].can_tell
    one_class = blind(questions(50, lambda i: "GLAUCOMA"))[0]
    assert one_class.accuracy == accuracy_score(["a"], ["a"]) and not one_class.leaks


def test_an_answer_for_two_tasks_counts_by_the_tasks_own_part():
    told = questions(200, lambda i: f"Sex/Age group: {('MALE', 'FEMALE')[balanced(i) == WORDS[0]]} / {i % 8}0+")
    (one,) = blind([replace(r, choices=("MALE", "FEMALE")) for r in told])
    assert one.classes == 2
