"""Table 2's comparison: the runs of `compare` on reduced training splits, as plain rows."""

import pytest

from itmlab.errors import ItmlabError
from itmlab.training import compare, compare_reduced
from itmlab.training.reduced import stretched

from .world import micro

RECIPES = {"hardest": micro("hardest"), "hardest + SAM": micro("sam")}


@pytest.fixture(scope="module")
def table(data, tmp_path_factory):
    root = tmp_path_factory.mktemp("reduced")
    settings = {"seeds": 2, "run_root": root, "split": "train", "progress": False}
    given = RECIPES, {"hardest + SAM": "hardest"}, data, {0.5: 4, 1.0: 2}
    return root, settings, compare_reduced(*given, **settings)


def test_each_share_has_a_row_a_recipe_and_seed(table):
    *_, found = table
    assert [(row["share"], row["recipe"], row["seed"]) for row in found["rows"]] == [
        (share, label, seed) for share in (0.5, 1.0) for label in RECIPES for seed in (0, 1)
    ]
    assert {"i2t R@1", "t2i N@10", "i2t N(N)@5", "RSum", "Nsum", "Nsum(N)"} <= set(found["rows"][0])


def test_its_numbers_are_those_of_compare_on_the_reduced_split(table, data):
    _, settings, found = table
    recipes = {label: stretched(recipe, 4) for label, recipe in RECIPES.items()}
    again = compare(recipes, data.reduced(0.5), relevance="cider", **settings)
    assert [{"share": 0.5, **row} for row in again.by_seed()] == found["rows"][:4]
    expected = again.difference("hardest + SAM")
    for row in found["differences"][: len(expected)]:
        assert (row["share"], row["recipe"], row["baseline"]) == (0.5, "hardest + SAM", "hardest")
        assert (row["difference"], row["lower"], row["upper"]) == expected[row["measure"]]


def test_warm_up_keeps_its_part_of_the_epochs():
    recipe = micro("sam", data__epochs=12, data__warm_up_epochs=6)
    assert [stretched(recipe, count).data.warm_up_epochs for count in (30, 11, 12)] == [15, 6, 6]
    assert stretched(recipe, 12) == recipe


def test_an_unknown_baseline_is_one_line(data, tmp_path):
    with pytest.raises(ItmlabError, match=r"no recipe 'hardes' to compare — did you mean hardest\?"):
        compare_reduced(RECIPES, {"hardest + SAM": "hardes"}, data, {0.5: 1}, run_root=tmp_path)
