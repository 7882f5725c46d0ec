"""Swaps of captions of photographs: each rule by example."""

import pytest
import torch

from itmlab.synthesis.rules import GREATER, PERSONS, PHOTO_IMPLIED, PHOTO_PLACES, RuleSwaps
from itmlab.text import parse


@pytest.mark.parametrize(
    ("caption", "others", "wanted"),
    [  # all that may be made of each
        ("A boy plays a guitar.", [], {"A girl plays a guitar."}),
        ("A boy plays a guitar.", ["She has a violin."], set()),  # another says that she is a girl
        ("A man with a beard in a park.", [], set()),
        ("A man shows his dog to himself.", [], set()),  # the pronouns would have to change
        ("Two dogs run.", [], {"Three dogs run.", "Four dogs run.", "Five dogs run."}),  # one of two is there, too
        ("Two dogs run.", ["Several dogs run."], set()),
        ("People are walking.", [], set()),
        ("A person to the right of the red hat.", [], set()),
        ("A person next to a tree.", [], {"A person far from a tree."}),
    ],
)
def test_each_rule_by_example(caption, others, wanted):
    swaps = RuleSwaps(PERSONS, PHOTO_PLACES, GREATER, implied=PHOTO_IMPLIED)
    [row] = swaps([caption], parse([caption], cache=False), [others], generator=torch.Generator())
    assert {negative.sentence for negative in row} == wanted
