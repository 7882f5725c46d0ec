import pytest
from hypothesis import given
from hypothesis import strategies as st

from itmlab.data.splits import proportional_splits, reduced_rows
from itmlab.errors import ItmlabError

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


@given(st.integers(1, 300), st.floats(0.001, 1), st.floats(0.001, 1), st.integers(0, 5))
def test_a_smaller_share_is_part_of_a_larger_one(count, share, other, seed):
    fewer, more = (reduced_rows(count, each, seed).tolist() for each in sorted((share, other)))
    assert set(fewer) <= set(more) <= set(range(count))
    for rows, each in ((fewer, min(share, other)), (more, max(share, other))):
        assert len(rows) == max(1, round(each * count)) and rows == sorted(set(rows))
    assert reduced_rows(count, share, seed).equal(reduced_rows(count, share, seed))


def test_shares_are_exact_and_drawn_by_the_seed():
    assert [len(reduced_rows(29000, share)) for share in (0.1, 0.25, 1)] == [2900, 7250, 29000]  # the paper's
    assert reduced_rows(100, 1).tolist() == list(range(100))
    assert not reduced_rows(100, 0.2, seed=0).equal(reduced_rows(100, 0.2, seed=1))
    for share in (0, -0.1, 1.01, 10, True, float("nan"), "0.1"):
        with pytest.raises(ItmlabError, match=r"0\.1 for a tenth"):
            reduced_rows(100, share)
