from collections import Counter
from dataclasses import replace

import pytest

from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.data.audit.subset import account, allot, representative, stratum_of, write_subset
from lmod_train.tasks.cascade import chains
from tests.tabled import tabled
from tests.tiny import record, write_curated

SIZES = {("glaucoma", "CFP", "GLAUCOMA"): 120, ("glaucoma", "CFP", "NON-GLAUCOMA"): 60, ("stage", "OCT", "Stage: 1"): 3}


@pytest.fixture(scope="module")
def records():
    return [
        record(f"{task}/s/{answer}-{i}", task=task, modality=modality, answer=answer, split=("train", "test")[i % 2])
        for (task, modality, answer), size in SIZES.items()
        for i in range(size)
    ]


def test_every_stratum_has_its_share_and_none_is_missing(records):
    drawn = representative(records, 30)
    found = Counter((r.task, r.modality, r.answer) for r in drawn)
    assert sum(found.values()) == 30 == len({r.id for r in drawn})
    for stratum, size in SIZES.items():
        assert found[stratum] >= 1 and abs(found[stratum] - 30 * size / 183) <= 1
    assert [r.id for r in drawn] == sorted(r.id for r in drawn)


def test_the_draw_is_the_seeds_alone_and_a_larger_one_holds_the_smaller(records):
    some = {r.id for r in representative(records, 20)}
    assert some == {r.id for r in representative(records[::-1] + records[:5], 20)}
    assert some != {r.id for r in representative(records, 20, seed=1)}
    assert some <= {r.id for r in representative(records, 120)}


def test_asking_for_all_gives_all_and_for_none_is_refused(records):
    assert len(representative(records, 1000)) == 183
    with pytest.raises(BadArgument, match="at least 1"):
        representative(records, 0)
    with pytest.raises(BadArgument):
        representative([], 0)
    assert representative([], 5) == []


def test_of_more_strata_than_records_the_largest_are_drawn(records):
    assert [r.answer for r in representative(records, 1)] == ["GLAUCOMA"]
    assert sorted(r.answer for r in representative(records, 2)) == ["GLAUCOMA", "NON-GLAUCOMA"]
    assert len({stratum_of(r) for r in representative(records, 3)}) == 3


def test_free_text_is_one_stratum_however_many_different_answers_there_are():
    turns = [record(f"conversation/s/{i}", task="conversation", choices=(), answer=f"Answer {i}.") for i in range(66)]
    assert {stratum_of(r) for r in turns} == {("CFP", "conversation", "phantom", "en")}
    assert len(representative(turns, 20)) == 20


def chain_of(number, steps, task="staged", split="test", chain=True):
    """Return a chain: the first question stands alone, each later one needs the answers before it."""
    made = []
    for step in range(steps):
        fields = {"task": task, "split": split, "chain_step": str(step), "answer": ("yes", "no")[(number + step) % 2]}
        fields |= {"needs": tuple(r.id for r in made), "chain": f"s/{number}" if chain else ""}
        made.append(record(f"{task}/s/{number}/{step}", choices=("yes", "no"), **fields))
    return made


def whole(drawn, everything):
    """Whether each drawn record's whole chain, and all that it needs, is drawn too."""
    ids, named = {r.id for r in drawn}, {r.chain for r in drawn} - {""}
    together = {r.id for r in everything if r.chain in named} | {need for r in drawn for need in r.needs}
    return together <= ids


@tabled("named", [True, False])
@tabled("n", [1, 2, 7, 30, 100, 399])
def test_a_chain_is_drawn_whole_whatever_its_length_and_the_seed(n, named):
    chained = [r for i in range(80) for r in chain_of(i, 1 + i % 5, chain=named)]
    everything = [*chained, *(record(f"glaucoma/s/{i}") for i in range(160))]
    for seed in range(10):
        drawn = representative(everything, n, seed)
        assert whole(drawn, everything) and len(drawn) == len({r.id for r in drawn})
        assert abs(len(drawn) - n) <= 4 + 0.25 * n
    if n >= 30:
        lengths = [len(representative(everything, n, seed)) for seed in range(40)]
        assert sum(lengths) / 40 == pytest.approx(n, rel=0.1)


def test_a_chain_over_several_tasks_and_languages_is_one():
    first, second, third = chain_of(1, 3)
    other = replace(second, id="graded/s/1", task="graded", needs=(first.id,), chain="")
    chinese = replace(first, id="staged/s/1/zh", language="zh")
    known = {r.id: r for r in (third, other, chinese, second, first, record("glaucoma/s/1"))}
    (alone,), together = sorted(chains(known), key=len)
    assert alone.id == "glaucoma/s/1" and together[0] == first
    assert {r.id for r in together} == {r.id for r in (first, second, third, other, chinese)}


def test_a_task_whose_questions_need_another_tasks_answers_is_refused_alone(tmp_path):
    first, second = chain_of(1, 2)
    write_curated(tmp_path, [first, replace(second, id="graded/s/1", task="graded"), record("glaucoma/s/1")])
    with pytest.raises(BadArgument, match=rf"--tasks='graded'.*graded/s/1 needs the answer to {first.id}"):
        write_subset(tmp_path, 1, 0, "all", ["graded"])
    path, _ = write_subset(tmp_path, 2, 0, "all", ["graded", "staged"])
    assert sorted(path.read_text(encoding="utf-8").split()) == ["graded/s/1", first.id]


def test_shares_sum_up_whatever_the_sizes():
    for n in range(1, 60):
        sizes = {("m", "t", "s", str(i)): size for i, size in enumerate((1, 7, 49))}
        shares = allot(sizes, n)
        assert sum(shares.values()) == min(n, 57)
        assert all((n >= 3) <= shares[s] <= sizes[s] for s in sizes)


def test_ids_are_written_and_the_account_adds_up(records, tmp_path):
    write_curated(tmp_path, records)
    path, strata = write_subset(tmp_path, 12, 0, "test", ["glaucoma"])
    assert path.parent == tmp_path / "subsets"
    by_id = {r.id: r for r in records}
    drawn = [by_id[line] for line in path.read_text(encoding="utf-8").split()]
    assert {(r.split, r.task) for r in drawn} == {("test", "glaucoma")}
    assert strata == account([r for r in records if (r.split, r.task) == ("test", "glaucoma")], drawn)
    told = account(records, drawn)
    assert sum(n for _, n, _ in told) == 183 and sum(n for _, _, n in told) == 12
    assert {stratum_of(r) for r in records} == {stratum for stratum, _, _ in told}
    _, strata = write_subset(tmp_path, 2, 0, "all", [])
    assert [share for *_, share in strata] == [1, 1, 0]
    with pytest.raises(BadArgument, match="sdrg"):
        write_subset(tmp_path, 12, 0, "all", ["sdrg"])
    with pytest.raises(ArtifactError):
        write_subset(tmp_path / "none", 12, 0, "all", [])


def test_an_answer_for_two_tasks_counts_by_the_tasks_own_part():
    told = [
        record(f"sex/s/{sex}-{age}", task="sex", choices=("MALE", "FEMALE"), answer=f"Sex/Age group: {sex} / {age}")
        for sex in ("MALE", "FEMALE")
        for age in ("<18", "18–29", "80+")
    ]
    assert {stratum_of(r)[3] for r in told} == {"en: Sex/Age group: MALE", "en: Sex/Age group: FEMALE"}
