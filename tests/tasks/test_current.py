"""Which saved replies count: never one to something else, never none where one could."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lmod_train.core.types import Reply
from lmod_train.tasks.asked import Current, current, newest
from tests.tabled import stored

replies = st.lists(
    st.builds(
        Reply,
        st.sampled_from("abc"),
        st.text(max_size=2),
        step=st.integers(0, 3),
        asked=st.sampled_from(["", "x", "y"]),
    ),
    unique_by=lambda r: (r.id, r.step, r.asked),
)


def test_the_highest_step_counts_wherever_it_stands():
    said = [("a", "old", 10), ("b", "only", 0), ("a", "new", 200), ("a", "x", 30)]
    found = newest(Reply(id, text, step=step) for id, text, step in said)
    assert {i: r.reply for i, r in found.items()} == {"a": "new", "b": "only"}
    assert newest([]) == {}


def test_of_replies_at_one_step_the_later_counts():
    said = stored(__file__, "current.of_replies_at_one_step_the_later_counts")
    saved = [Reply(id, text, step=step) for id, text, step in said]
    for several in (saved, saved[::-1]):
        last = {r.id: r.reply for r in sorted(several, key=lambda r: r.step)}  # a stable sort
        assert {id: r.reply for id, r in newest(several).items()} == last


def test_nothing_saved_and_nothing_asked():
    assert current({}, []) == current({"a": "x"}, []) == Current({}, 0)
    assert current({}, [Reply("a", "no longer asked", asked="x")]) == Current({}, 1)


@given(replies, st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["", "x", "z"])))
def test_every_line_counts_is_stale_or_gives_way_to_a_better_one(saved: list[Reply], asked: dict[str, str]):
    found = current(asked, saved)
    assert set(found.replies) == {r.id for r in saved if r.asked and r.asked == asked.get(r.id)}
    for id, reply in found.replies.items():
        rivals = [r for r in saved if r.id == id and r.asked == asked[id]]
        assert reply in rivals and reply.step == max(r.step for r in rivals)
    assert found.stale == sum(1 for r in saved if not r.asked or asked.get(r.id) != r.asked)
