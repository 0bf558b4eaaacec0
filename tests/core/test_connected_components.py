from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from lmod_train.core.connected_components import join

numbers = st.integers(0, 14)


@given(st.lists(st.tuples(numbers, numbers)))
def test_the_groups_are_connected_components(pairs):
    places = sorted({n for pair in pairs for n in pair})
    rows, columns = ([places.index(pair[end]) for pair in pairs] for end in (0, 1))
    matrix = coo_matrix(([1] * len(pairs), (rows, columns)), (len(places), len(places)))
    count, labels = connected_components(matrix, directed=False) if places else (0, [])
    expected = {frozenset(p for p, label in zip(places, labels, strict=True) if label == one) for one in range(count)}
    found = join(pairs)
    assert set(map(frozenset, found)) == expected and sum(map(len, found)) == len(places)
