"""The learning rate over a run, which the paper's text gives in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from itmlab import recipes
from itmlab.training.learning_rate import learning_rate_at
from itmlab.training.recipe import OptimiserSettings


def rates(settings, steps_an_epoch, epochs):
    return [learning_rate_at(settings, step, steps_an_epoch, epochs) for step in range(steps_an_epoch * epochs)]


def test_the_paper_decays_ten_times_at_the_5th_and_15th_epoch():
    by_epoch = rates(recipes.fne.sized("base").optimiser, 1, 25)
    assert by_epoch == pytest.approx([2e-5] * 5 + [2e-6] * 10 + [2e-7] * 10)


def test_a_warm_up_rises_in_equal_steps_to_the_full_rate():
    settings = OptimiserSettings(learning_rate=1.0, schedule="constant", warm_up=2.0)
    assert rates(settings, 2, 4) == pytest.approx([0.2, 0.4, 0.6, 0.8, 1, 1, 1, 1])


@pytest.mark.parametrize(("schedule", "half"), [("linear", 0.5), ("cosine", 0.5)])
def test_what_falls_to_nothing_is_halved_half_way(schedule, half):
    settings = OptimiserSettings(learning_rate=1.0, schedule=schedule)
    values = rates(settings, 10, 10)
    assert values[0] == 1 and values[50] == pytest.approx(half) and 0 < values[-1] < 0.02


@given(
    schedule=st.sampled_from(["constant", "step", "linear", "cosine"]),
    warm_up=st.floats(0, 30),
    steps_an_epoch=st.integers(1, 7),
    epochs=st.integers(1, 9),
)
def test_it_is_never_above_the_rate_nor_negative_nor_rises_after_the_warm_up(schedule, warm_up, steps_an_epoch, epochs):
    settings = OptimiserSettings(learning_rate=1.0, schedule=schedule, warm_up=warm_up)
    values = rates(settings, steps_an_epoch, epochs)
    assert all(0 <= value <= 1 for value in values)
    after = [value for step, value in enumerate(values) if step / steps_an_epoch >= warm_up]
    assert after == sorted(after, reverse=True)


def test_a_warm_up_may_be_a_share_of_all_steps_and_a_run_may_end_within_an_epoch():
    settings = OptimiserSettings(learning_rate=1.0, schedule="linear", warm_up_share=0.25)
    values = [learning_rate_at(settings, step, 5, 12 / 5) for step in range(12)]
    assert values == pytest.approx([0.25, 0.5, 0.75, 1, 8 / 9, 7 / 9, 6 / 9, 5 / 9, 4 / 9, 3 / 9, 2 / 9, 1 / 9])
