from hypothesis import given
from hypothesis import strategies as st

from itmlab.data.splits import proportional_splits

shares = st.tuples(*[st.floats(0, 1)] * 3).filter(lambda three: sum(three) > 0.01)


@given(st.integers(0, 200), shares, st.integers(0, 5))
def test_every_image_is_in_exactly_one_split(count, proportions, seed):
    parts = proportional_splits(count, proportions, seed)
    assert sorted(index for part in parts.values() for index in part.tolist()) == list(range(count))
    assert all(part.tolist() == sorted(part.tolist()) and len(part) for part in parts.values())
    wanted = [name for name, share in zip(("train", "val", "test"), proportions, strict=True) if share > 0]
    assert set(parts) <= set(wanted)
    if count >= len(wanted):
        assert set(parts) == set(wanted)


def test_proportions_are_met():
    assert [len(part) for part in proportional_splits(1000).values()] == [800, 100, 100]
    assert [len(part) for part in proportional_splits(10, (1, 0, 1)).values()] == [5, 5]
