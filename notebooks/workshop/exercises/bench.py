"""Exercises of notebooks 10 to 13: which word is wrong, an own sampler, what intervals decide, photographs, costs.

One function per exercise, as in `sentences`: its docstring has three hints.
"""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from itmlab.metrics import Interval, holm, verdict
from itmlab.text.graph import tokenise

from .. import analysis
from .judging import agrees, called, exercise, near, run, scenes, uniform, wrong_if
from .sentences import PICTURE, must_be, one_word_changed

# 10 Which word is wrong?

MASK = 4  # the number of [MASK] in the judge's inputs


@exercise("10.1")
def a_correction(answer: Callable) -> str:
    """Only pieces that do not fit change; all others stay as they are.

    The head H_WoC gives each place a logit for every piece of the vocabulary; the largest one is what it would write.

    torch.where(mismatch >= above, logits.argmax(dim=-1), ids).
    """
    ids, mismatch = uniform(2, 3, 6)
    logits = uniform(3, 6, 20, seed=1)
    inputs = [((20 * ids).long(), mismatch, logits, above) for above in (0.0, 0.5, 0.9)]

    def corrected(ids: Tensor, mismatch: Tensor, logits: Tensor, above: float) -> Tensor:
        return torch.where(mismatch >= above, logits.argmax(dim=-1), ids)

    return agrees(answer, corrected, inputs, "that is Eq. 9; the paper rewrites every word, which is above=0")


@exercise("10.2")
def score_without_each_word(answer: Callable) -> str:
    """What would the model say if it could not read this one word?

    Copy the pieces, put the mask into one column of all rows, and ask for the score again; then the next column.

    For each column: hidden = ids.clone(); hidden[:, column] = mask; the gain is score(hidden) - score(ids). Stack the
    gains with torch.stack(gains, dim=1).
    """
    weights = uniform(7, 30) - 0.5

    def score(pieces: Tensor) -> Tensor:  # it depends on the place and on the piece
        return weights[range(7), pieces].sum(dim=1).tanh()

    def gains(score: Callable, ids: Tensor, mask: int) -> Tensor:
        hidden = [ids.index_fill(1, torch.tensor(column), mask) for column in range(ids.shape[1])]
        return torch.stack([score(pieces) - score(ids) for pieces in hidden], dim=1)

    inputs = [(score, 5 + (25 * uniform(4, 7, seed=seed)).long(), MASK) for seed in range(3)]
    return agrees(answer, gains, inputs, "it needs no head: any model with a score can be asked this way")


@exercise("10.3")
def a_right_word_flagged(answer: str) -> str:
    """The head has learnt which words were often replaced. Which words say the same, or less?

    Take another word for the same thing, or a wider one: nouns are flagged most often.

    A monkey is also an animal, a creature, a mammal.
    """
    place, new = one_word_changed(answer)
    words = analysis.explain_words(run("tags_dc"), scenes(regions=True).regions[PICTURE], [answer])[0].words
    matches = [word for word in words if word.text.lower() == new]
    before = [token.lower() for token in tokenise(answer)][:place].count(new)
    wrong_if(before >= len(matches), f"the model does not read “{new}” as a word of its own; take a plainer one")
    must_be(True, PICTURE, answer)
    wrong_if(matches[before].mismatch <= 0.5, "true, and tags_dc does not object")
    return "true of the picture, and yet tags_dc objects to the new word"


@exercise("10.4")
def balanced_accuracy(answer: Callable) -> str:
    """Two accuracies, of replaced and of kept words, count equally, however many words there are of each.

    Of the replaced words those that are flagged are right, of the kept words those that are not.

    50 * (flagged[replaced].float().mean() + (~flagged[~replaced]).float().mean()).
    """

    def balanced(flags: Tensor, replaced: Tensor) -> Tensor:
        return 50 * (flags[replaced].float().mean() + (~flags[~replaced]).float().mean())

    inputs = [uniform(2, 40, seed=seed) < 0.3 for seed in range(3)]
    return agrees(answer, balanced, inputs, "a model that never objects has 50 %, however few words are replaced")


# 11 An idea of your own.


@exercise("11.1")
def among_the_hardest(answer: Callable) -> str:
    """Any of the ten hardest negatives will do, but each with the same chance, and never a positive.

    Mark the ten best of the allowed candidates, give these the weight 1 and all others 0, and draw.

    Call `best(scores, usable(scores, positives), rank)` for rank 0 to 9: an anchor with fewer gets its last again. Set
    the weight of these columns to 1 (of -1 to nothing), and return draw(weights, generator=generator).
    """
    drawn_ranks = set()
    for number in range(40):
        scores, positives = uniform(6, 14, seed=number), torch.eye(6, 14, dtype=torch.bool)
        positives[5] = number % 2 == 0
        seeded = (Generator().manual_seed(number) for _ in range(2))
        chosen, again = (called(answer, scores, positives, scores.diagonal(), generator=each) for each in seeded)
        is_right_shape = isinstance(chosen, Tensor) and chosen.shape == (6,)
        wrong_if(not is_right_shape, "it should return one number per anchor")
        wrong_if(not chosen.equal(again), "the same generator gives other choices: draw from `generator` alone")
        hardest = scores.masked_fill(positives, -1).topk(10, dim=1).indices.tolist()
        for anchor, choice in enumerate(chosen.tolist()):
            if positives[anchor].all():
                wrong_if(choice != -1, "an anchor without a negative should get -1")
                continue
            unexpected = f"anchor {anchor} gets candidate {choice}, which is not among its ten hardest negatives"
            wrong_if(choice not in hardest[anchor], unexpected)
            drawn_ranks.add(hardest[anchor].index(choice))
    wrong_if(len(drawn_ranks) < 10, f"only ranks {sorted(drawn_ranks)} are ever drawn, expected all of 0 to 9")
    return "all ten ranks are drawn, and equally from equal generators; as a Sampler it goes into a recipe"


@exercise("11.2")
def growing_margin(answer: Callable) -> str:
    """At the first step it is nearly zero, at the last it is the whole margin.

    The share of training that is done after this step is (step + 1) / total_steps.

    lambda margin, step, total_steps: margin * (step + 1) / total_steps.
    """
    inputs = [(0.3, step, 40) for step in (0, 7, 39)]
    says = "a loss that names `context` gets step and total_steps from it"
    return agrees(answer, lambda margin, step, total: margin * (step + 1) / total, inputs, says)


INTERVALS = ((2.0, 0.4, 3.5), (-0.4, -1.6, 0.7), (-2.1, -3.0, -1.1), (0.4, -0.4, 1.1))  # the last is "within 3 of 0"


@exercise("11.3")
def four_verdicts(answer: tuple[str, ...]) -> str:
    """Where does the whole interval lie?

    A claim is held if all of the interval lies where the claim says, contrary if all of it lies elsewhere.

    Above 0 for the first three, between -3 and 3 for the fourth; an interval that crosses its mark is "not seen".
    """
    *above_zero, around_zero = (Interval(*ends) for ends in INTERVALS)
    right = [*map(verdict, above_zero), verdict(around_zero, expected="equal", margin=3.0)]
    wrong_if(len(answer) != len(right), f"{len(right)} words are expected, got {len(answer)}")
    for place, word, wanted in zip(("first", "second", "third", "fourth"), answer, right, strict=True):
        wrong_if(word != wanted, f"the {place} is not {word!r}")
    return "where an interval crosses its mark, it decides neither for nor against the claim"


@exercise("11.4")
def holm_correction(answer: Callable) -> str:
    """The smallest p has the most rivals.

    Sort them. The smallest is multiplied by n, the next by n - 1, and so on; none may be below an earlier one.

    scaled = sorted p * (n, n-1, ..., 1); running maximum; at most 1; back into the old order.
    """
    inputs = [(uniform(number).tolist(),) for number in (1, 3, 6)]
    return agrees(answer, holm, inputs, "`Comparison` does this for all the differences that it shows")


# 12 On photographs.


@exercise("12.1")
def chance_of_a_search(answer: Callable) -> str:
    """A model that knows nothing puts the pictures into any order.

    One of n pictures is right, and the first k places are as good as any others.

    lambda pictures, k: 100 * min(k, pictures) / pictures.
    """
    inputs = [(pictures, k) for pictures in (5, 20, 87) for k in (1, 5, 10)]
    says = "so a sum of recalls says little without how many pictures were searched"
    return agrees(answer, lambda pictures, k: 100 * min(k, pictures) / pictures, inputs, says)


@exercise("12.2")
def what_a_margin_leaves(answer: Callable) -> str:
    """How far below the positive does a candidate have to be?

    A tenth of the positive's score is its score times the relative margin.

    scores <= positive - margin * abs(positive).
    """
    inputs = [(uniform(8, seed=number), 0.2 + 0.1 * number, 0.05 * number) for number in range(1, 5)]
    says = "what scores nearly as the positive is left out, whether it is false or true"
    return agrees(answer, lambda scores, positive, margin: scores <= positive - margin * abs(positive), inputs, says)


# 13 Real data and GPUs.


@exercise("13.1")
def what_adam_holds(answer: Callable) -> str:
    """Which numbers does Adam keep for each weight?

    Four numbers per weight: itself, its gradient, Adam's mean and Adam's mean of squares. A copy is one more.

    lambda millions, copies: 4 * (4 + copies) * millions / 1000, in gigabytes.
    """
    inputs = [(millions, copies) for millions in (14, 100, 335) for copies in (0, 1)]
    says = "what autograd keeps for the backward pass comes on top, and grows with the batch"
    return agrees(answer, lambda millions, copies: 4 * (4 + copies) * millions / 1000, inputs, says)


@exercise("13.2")
def a_shared_batch(answer: tuple[int, int]) -> str:
    """What is divided among GPUs, and what is gathered?

    The pictures are divided; the features are gathered before negatives are chosen.

    A quarter of 64 pictures, and all captions of the batch but one.
    """
    near(answer[0], 64 / 4, 0, "the number of pictures that a GPU encodes")
    near(answer[1], 64 - 1, 0, "the number of other captions")
    return "so the number of GPUs changes the speed and not the set of negatives"
