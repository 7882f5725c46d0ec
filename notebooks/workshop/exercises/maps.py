"""Exercises about features, their maps and where words land: notebooks 05 and 07."""

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor
from torch.nn.functional import normalize

from itmlab.models.encoded import evaluating
from itmlab.samplers import Hardest
from itmlab.train.scores import Embeddings, embed

from .. import analysis
from ..analysis.attention import enlarge
from .judging import Wrong, agrees, exercise, near, run, scenes, unannotated, uniform, within, wrong_if

# 05 Where features lie, and how hard negatives are.


@cache
def features() -> Embeddings:
    """Return the features of the test pictures and captions by the aligned model."""
    with evaluating(run("vit_dual_encoder").model):
        return embed(run("vit_dual_encoder").model, scenes())


@exercise("05.1")
def neighbours_on_a_map(answer: Callable) -> str:
    """Find each point's k nearest points twice, once among the features and once on the map. No point is its own
    neighbour.

    `torch.cdist(points, points)` gives all distances. Fill the diagonal with infinity and take the k smallest of each
    row with `topk(k, largest=False)`. Then count which numbers occur in both lists.

    With `near` and `shown` of shape (point, k):
    `(near[:, :, None] == shown[:, None, :]).any(dim=2).float().mean()`.
    """
    points = normalize(uniform(60, 8) - 0.5, dim=1)
    places = points[:, :2] + 0.5 * uniform(60, 2, seed=1)
    inputs = [(points, places, k) for k in (1, 5, 10)]
    return agrees(answer, analysis.neighbours_kept, inputs, "equal to the package's measure")


@exercise("05.2")
def pictures_beside_captions(answer: float) -> str:
    """Put both kinds of features into one matrix. Then ask of each caption which row is nearest.

    `both = torch.cat([features.images, features.captions])`, and its inner products are `both @ both.T`. No point is
    its own nearest point, so fill the diagonal with −2.

    `nearest = (both @ both.T).fill_diagonal_(-2).argmax(dim=1)`; the answer is the mean of `nearest[500:] < 500`.
    """
    both = torch.cat(list(features()))
    nearest = (both @ both.T).fill_diagonal_(-2).argmax(dim=1)
    right = float((nearest[len(scenes()) :] < len(scenes())).float().mean())
    near(answer, right, 0.005, "the share")
    return f"{right:.1%}: to a caption, other captions are nearer than any picture"


@exercise("05.3")
def difficulty_of_negatives(answer: Callable) -> str:
    """Per row you need two numbers: the score of the positive and the highest score among all others.

    `masked_fill(positives, -torch.inf)` removes the positives from a row before you take the maximum.

    `scores.masked_fill(positives, -torch.inf).amax(dim=1) - scores[positives]`
    """

    def expected(scores: Tensor, positives: Tensor) -> Tensor:
        matches = scores[positives]
        chosen = Hardest()(scores, positives, matches, generator=torch.Generator())
        return scores.gather(1, chosen[:, None])[:, 0] - matches

    inputs = [(2 * uniform(n, n) - 1, torch.eye(n).bool()) for n in (2, 5, 32)]
    return agrees(answer, expected, inputs, "equal to what the package's sampler of hardest negatives chooses")


@exercise("05.4")
def a_margin(answer: float) -> str:
    """Does a larger margin make more negatives hard, or fewer?

    Put other numbers for 0.2 into the cell above that counts them. Halve an interval between 0 and 1.

    The margin is about twice 0.2.
    """
    positives, similarity = scenes().positives, features().images @ features().captions.T
    matches = (similarity * positives).sum(1) / positives.sum(1)
    hard = float((((similarity > matches[:, None] - answer) & ~positives).sum(1) / (~positives).sum(1)).mean())
    says = f"with a margin of {answer:g}, {hard:.1%} of a picture's negatives are hard"
    wrong_if(abs(hard - 0.1) > 0.01, says)
    return says


@exercise("05.5")
def a_difficult_false_negative(answer: tuple[int, int]) -> str:
    """Look for large scores among the pairs that are true but not annotated.

    Compare each score with the largest score of the picture's own captions. Then keep what is true and not annotated.

    `best = scores.masked_fill(~positives, -1).amax(dim=1)`, then
    `((scores > best[:, None]) & truth & ~positives).nonzero()`.
    """
    words, (picture, caption) = unannotated(*answer), answer
    similarity = features().captions @ features().images[picture]
    best = similarity[scenes().positives[picture]].max()
    higher = f"a caption of picture {picture} scores higher: {best:.3f}, yours {similarity[caption]:.3f}"
    wrong_if(similarity[caption] <= best, higher)
    return f"“{words}” has a difficulty of {similarity[caption] - best:+.3f}, and it is true"


@exercise("05.6")
def a_caption_between_pictures(answer: int) -> str:
    """A vague caption is true of many pictures, so some of these are likely in its batch.

    `((truth & ~positives).sum(dim=0))` counts the false negatives of each caption. Begin with the largest counts.

    Go through `((truth & ~positives).sum(dim=0)).argsort(descending=True).tolist()` and stop at the first caption whose
    batch has `batch.true.sum() >= 2` and `(batch.true & batch.hard).any()`.
    """
    caption = within(answer, scenes().captions, "caption")
    batch = analysis.batch_neighbourhood(features(), scenes(), caption, "caption")
    true, hard = int(batch.true.sum()), int((batch.true & batch.hard).sum())
    counts = f"in its batch are {true} true pictures that are not annotated, {hard} of them hard"
    wrong_if(true < 2 or not hard, counts)
    return counts


# 07 Where does a word land?


@exercise("07.1")
def accuracy_of_pointing(answer: Callable) -> str:
    """Where is the largest value of a map, and is the mask true there? A map has fewer pixels than its mask.

    Enlarge each map to the size of its mask with `torch.nn.functional.interpolate(…, mode="bilinear")`. Flatten both
    and look the mask up at the `argmax` of the map.

    `large = interpolate(maps[:, None], masks.shape[1:], mode="bilinear").flatten(1)`, then
    `masks.flatten(1).gather(1, large.argmax(dim=1, keepdim=True)).float().mean()`.
    """

    def expected(maps: Tensor, masks: Tensor) -> Tensor:
        peaks = [enlarge(weights.numpy(), *mask.shape).argmax() for weights, mask in zip(maps, masks, strict=True)]
        hits = [mask.flatten()[int(peak)] for peak, mask in zip(peaks, masks, strict=True)]
        return torch.tensor(hits).float().mean()

    masks = uniform(40, 12, 12, seed=1) < 0.4
    inputs = [(uniform(40, 8, 8), torch.kron(masks, torch.ones(1, size, size).bool())) for size in (2, 8)]
    return agrees(answer, expected, inputs, "equal to the package's pointing accuracy")


@exercise("07.2")
def the_middle(answer: float) -> str:
    """A word hits if its mask is true at one fixed place. You need the masks, but no map.

    Collect `analysis.word_masks(model, data, int(data.captions_of_image[i][0]))` for i from 0 to 99. Leave out `None`.

    The mean of `bool(mask[48, 48])` over all these masks.
    """
    data = scenes()
    firsts = [int(captions[0]) for captions in data.captions_of_image[:100]]
    masks = [mask for caption in firsts for mask in analysis.word_masks(run("fne"), data, caption) if mask is not None]
    right = sum(bool(mask[48, 48]) for mask in masks) / len(masks)
    near(answer, right, 0.005, "the share")
    return f"{right:.1%} of {len(masks)} words: before the alignment, the maps point no better"


def pointing_of(answer: tuple[int, str], measure: str) -> bool:
    """Return whether the map of a word of a caption has its peak inside what the word means."""
    caption, data = within(answer[0], scenes().captions, "caption"), scenes()
    rows, masks = analysis.caption_maps({"fne": run("fne")}, data, caption, measure=measure, named=True)
    for entry, mask in zip(rows["fne"], masks, strict=True):
        if entry.word.casefold() == answer[1].casefold():
            return bool(mask.flat[enlarge(entry.weights, *mask.shape).argmax()])
    visible = ", ".join(entry.word for entry in rows["fne"]) or "none"
    raise Wrong(f"“{answer[1]}” means nothing visible in “{data.captions[caption]}”; these do: {visible}")


@exercise("07.3")
def a_miss(answer: tuple[int, str]) -> str:
    """More than half of the words miss, so a few tries are enough. Small things are missed most often.

    Look at the explorer below, or at the twelve pictures above: is the brightest point outside the white line?

    Take any caption's number, for example 0 to 9, and one of its nouns or colours.
    """
    wrong_if(pointing_of(answer, "similarity"), f"the peak of “{answer[1]}” lies inside what it means")
    return f"the peak of “{answer[1]}” lies elsewhere"


@exercise("07.4")
def drops_by_word(answer: Callable) -> str:
    """How would the score change without one word? You need the score of the sentence, and its score without each word.

    Split the caption into words. For each place i, join all words but the i-th and ask `score` again.

    `[score(caption) - score(" ".join(words[:i] + words[i + 1:])) for i in range(len(words))]`
    """

    def score(sentence: str) -> float:
        return sum(at * ord(letter) for at, letter in enumerate(sentence)) % 101 / 101

    def expected(score: Callable, caption: str) -> list[float]:
        return [drop for _, drop in analysis.word_drops(score, caption)]

    inputs = [(score, scenes().captions[at]) for at in (0, 7, 613)]
    return agrees(answer, expected, inputs, "equal to the package's drops of the score")


@exercise("07.5")
def two_that_disagree(answer: tuple[int, str]) -> str:
    """Choose “gradient” as the map in the explorer below. Which words change?

    `analysis.caption_maps(runs, data, caption, measure="gradient", named=True)` gives the second kind of map. Compare
    its peak with the white line.

    Try the words of the caption that is drawn above: three of its four words hit by similarity only.
    """
    likeness, hangs_on = (pointing_of(answer, measure) for measure in ("similarity", "gradient"))
    wrong_if(likeness == hangs_on, f"of “{answer[1]}” both {'hit' if likeness else 'miss'}")
    return f"of “{answer[1]}” the {'similarity' if likeness else 'relevance'} hits, and the other misses"
