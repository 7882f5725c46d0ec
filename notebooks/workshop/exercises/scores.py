"""Exercises about scores, samplers, features, measures and what they decide: notebooks 05, 07 and 11 to 13.

A function an exercise, as in `sentences`.
"""

from functools import cache
from math import comb

from itmlab.metrics import Interval, holm, verdict
from itmlab.models.encoded import evaluating
from itmlab.train.scores import Embeddings, embed

from .judging import Wrong, exercise, near, run, scenes, within

# 05 Where features lie, and how hard negatives are.


@exercise("05.1")
def a_caption_between_pictures(answer: int) -> str:
    """Take a caption that is true of many pictures (`data.world.truth()`): some of these are likely in its batch."""
    from ..analysis.embeddings import batch_neighbourhood

    caption = within(answer, scenes().captions, "caption")
    batch = batch_neighbourhood(_features(), scenes(), caption, "caption")
    true, hard = int(batch.true.sum()), int((batch.true & batch.hard).sum())
    if true < 2 or not hard:
        raise Wrong(f"in its batch are {true} true pictures that are not annotated, {hard} of them hard")
    return f"in its batch are {true} true pictures that are not annotated, {hard} of them hard"


@cache
def _features() -> Embeddings:
    with evaluating(run("triplet").model):
        return embed(run("triplet").model, scenes())


@exercise("05.2")
def a_margin(answer: float) -> str:
    """The larger the margin, the more negatives are hard. Put a number for 0.2 in the cell above that counts them."""
    features, positives = _features(), scenes().positives
    scores_of_pairs = features.images @ features.captions.T
    above = scores_of_pairs > ((scores_of_pairs * positives).sum(1) / positives.sum(1))[:, None] - answer
    hard = float(((above & ~positives).sum(1) / (~positives).sum(1)).mean())
    if abs(hard - 0.1) > 0.01:
        raise Wrong(f"with a margin of {answer:g}, {hard:.1%} of a picture's negatives are hard")
    return f"{hard:.1%} of a picture's negatives are hard"


# 07 Where does a word land?


def pointing_of(answer: tuple[int, str], measure: str) -> bool:
    """Whether the map of a word of a caption has its peak inside what the word means."""
    from ..analysis.attention import caption_maps, enlarge

    caption, data = within(answer[0], scenes().captions, "caption"), scenes()
    rows, masks = caption_maps({"fne": run("fne")}, data, caption, measure=measure, named=True)
    for entry, mask in zip(rows["fne"], masks, strict=True):
        if entry.word.casefold() == answer[1].casefold():
            return bool(mask.flat[enlarge(entry.weights, *mask.shape).argmax()])
    visible = ", ".join(entry.word for entry in rows["fne"]) or "none"
    raise Wrong(f"“{answer[1]}” means nothing visible in “{data.captions[caption]}”; these do: {visible}")


@exercise("07.1")
def a_miss(answer: tuple[int, str]) -> str:
    """More than half of the words miss, so try a few, or count by `measured["with FNE"].hit`."""
    if pointing_of(answer, "similarity"):
        raise Wrong(f"the peak of “{answer[1]}” lies inside what it means")
    return f"the peak of “{answer[1]}” lies elsewhere"


@exercise("07.2")
def two_that_disagree(answer: tuple[int, str]) -> str:
    """Ask `maps.caption_maps(…, measure="gradient", named=True)`; try large things first: grass, a lake, a house."""
    likeness, hangs_on = (pointing_of(answer, measure) for measure in ("similarity", "gradient"))
    if likeness == hangs_on:
        raise Wrong(f"of “{answer[1]}” both {'hit' if likeness else 'miss'}")
    return f"of “{answer[1]}” the {'similarity' if likeness else 'relevance'} hits, and the other misses"


# 12 to 15: what an interval, a table and a search among few pictures say.

INTERVALS = ((2.0, 0.4, 3.5), (-0.4, -1.6, 0.7), (-2.1, -3.0, -1.1), (0.4, -0.4, 1.1))  # the last is "within 3 of 0"


@exercise("12.1")
def four_verdicts(answer: tuple[str, ...]) -> str:
    """The whole interval has to lie where the claim says: above 0, or between −3 and 3."""
    if len(answer) != len(INTERVALS):
        raise Wrong(f"{len(INTERVALS)} words are expected, got {len(answer)}")
    for at, (word, ends) in enumerate(zip(answer, INTERVALS, strict=True)):
        equal = {"expected": "equal", "margin": 3.0} if at == 3 else {}
        right = verdict(Interval(*ends), **equal)
        if word != right:
            raise Wrong(f"the {('first', 'second', 'third', 'fourth')[at]} is not {word!r}")
    return "where an interval crosses its mark, it decides neither for nor against the claim"


@exercise("12.2")
def holm_by_hand(answer: tuple[float, float, float]) -> str:
    """The smallest times 3, the next times 2, the largest times 1; and none below one that was smaller before."""
    for name, value, right in zip((".01", ".04", ".03"), answer, holm([0.01, 0.04, 0.03]), strict=True):
        near(value, right, 0.0005, f"what p = {name} becomes")
    return "of three that were below .05, one is left"


@exercise("13.1")
def a_sum_of_recalls(answer: float) -> str:
    """RSum adds R@1, R@5 and R@10 of both directions."""
    full, neither = (84.7, 97.1, 99.1, 68.1, 90.0, 94.0), (77.2, 95.2, 98.6, 63.7, 88.3, 93.0)
    near(answer, sum(full) - sum(neither), 0.05, "the difference")
    return "more than half of it is R@1, of images and of captions: sums hide where a gain lies"


@exercise("13.2")
def two_intervals_apart(answer: tuple[float, float]) -> str:
    """Half widths of independent values add up as the sides of a right-angled triangle: √(2² + 2²)."""
    near(answer[0], 2 - 8**0.5, 0.01, "the lower end")
    near(answer[1], 2 + 8**0.5, 0.01, "the upper end")
    return "two intervals that overlap can still differ; these two are not told apart"


@exercise("14.1")
def by_chance(answer: tuple[float, float]) -> str:
    """One of 87 pictures comes first. Of an image's places all five miss with 430/435 · 429/434 · …, five factors."""
    near(answer[0], 100 / 87, 0.01, "R@1 from text to image")
    near(answer[1], 100 * (1 - comb(430, 5) / comb(435, 5)), 0.05, "R@5 from image to text")
    return "so a sum of six recalls says little without how many pictures were searched"


@exercise("14.2")
def what_a_margin_leaves(answer: tuple[float, ...]) -> str:
    """A candidate may score the positive's .50 less a tenth of it, .45, at most."""
    if wrong := sorted({*answer} ^ {0.44, 0.31}):
        raise Wrong(f"{wrong[0]:g} is {'there and should not be' if wrong[0] in answer else 'missing'}")
    return "what scores nearly as the positive is left out, whether it is false or true"


@exercise("15.1")
def what_adam_holds(answer: tuple[float, float]) -> str:
    """Four numbers a weight: itself, its gradient, Adam's mean and Adam's mean of squares. A copy is one more."""
    near(answer[0], 4 * 4 * 100e6 / 1e9, 0.01, "what is trained")
    near(answer[1], 5 * 4 * 100e6 / 1e9, 0.01, "all with the copy")
    return "what autograd keeps for the backward pass comes on top, and grows with the batch"


@exercise("15.2")
def a_shared_batch(answer: tuple[int, int]) -> str:
    """The pictures are divided; the features are gathered before negatives are chosen."""
    near(answer[0], 64 / 4, 0, "the number of pictures that a GPU encodes")
    near(answer[1], 64 - 1, 0, "the number of other captions")
    return "so the number of GPUs changes the speed and not the set of negatives"
