"""Exercises of notebooks 04, 06, 08 and 09: equations of the papers, written by the student and checked.

As in `sentences`, each function judges one exercise, and the paragraphs of its docstring are the hints.
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import torch
from torch import Generator, Tensor
from torch.nn.functional import normalize

from itmlab.fields import did_you_mean
from itmlab.losses import InfoNCE, TripletLoss, adaptive_margin
from itmlab.metrics import Cider, ncs
from itmlab.samplers import Hardest, Random, SemiHard, Softest, Statistics, posterior, sampling_weights
from itmlab.synthesis import SynHNC
from itmlab.synthesis.synhnc import synthetic_negative
from itmlab.train import recipe
from itmlab.train.directory import first_difference
from itmlab.train.recipes import Recipe

from .. import analysis
from .judging import Wrong, agrees, called, exercise, run, scenes, scores, unannotated, uniform, within, wrong_if


def batches() -> list[Tensor]:
    """Random score matrices of several batches, matches on the diagonal; some matches score highest, some do not."""
    scores_of_batches = 0.8 * uniform(4, 8, 8)
    return [batch + bonus * torch.eye(8) for batch, bonus in zip(scores_of_batches, (0, 0.3, 0.5, 0.8), strict=True)]


def matches_of(batch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A batch as losses and samplers take it: scores, positives, scores of the matches."""
    return batch, torch.eye(len(batch), dtype=torch.bool), batch.diagonal()


# 04 Training: what a loss looks at.


@exercise("04.1")
def samplers_by_hardness(answer: tuple[str, ...]) -> str:
    """A harder negative has a higher score. Which sampler goes for low scores, and which for high ones?

    Sort by the mean score of the negatives. `softest` takes the lowest, `random` any, and `hardest` the highest.

    Semi-hard takes the hardest of those that score below the match, so it comes just before `hardest`.
    """
    samplers = {"random": Random(), "softest": Softest(), "semi-hard": SemiHard(), "hardest": Hardest()}
    wrong_if(sorted(answer) != sorted(samplers), f"each of {', '.join(samplers)} should be there once")
    scores_of_fne, positives = scores("fne"), scenes().positives
    matches = scores_of_fne.masked_fill(~positives, -torch.inf).max(dim=1).values
    taken = {}
    for name, sampler in samplers.items():
        chosen = sampler(scores_of_fne, positives, matches, generator=Generator().manual_seed(0))
        taken[name] = float(scores_of_fne.gather(1, chosen.clamp(min=0)[:, None])[chosen >= 0].mean())
    for easier, harder in pairwise(answer):
        wrong_if(taken[easier] > taken[harder], f"{easier} takes harder negatives than {harder}")
    return "by the mean score of their negatives: " + ", ".join(f"{name} {taken[name]:.2f}" for name in answer)


@exercise("04.2")
def maximum_of_hinges(answer: Callable) -> str:
    """The match of row i is `scores[i, i]`. Which cell of a row must not count as a negative?

    Compute margin − s⁺ + s for all cells at once, replace what is below 0 by 0, set the diagonal to 0, take the largest
    of each row and the mean of these.

    `hinges = (margin - scores.diagonal()[:, None] + scores).clamp(min=0)`, then `hinges.fill_diagonal_(0)` and
    `hinges.max(dim=1).values.mean()`.
    """
    inputs = [(batch, margin) for batch in batches() for margin in (0.1, 0.3)]
    says = f"equal to TripletLoss on {len(inputs)} random batches"
    return agrees(answer, lambda batch, margin: TripletLoss(margin)(*matches_of(batch)), inputs, says)


@exercise("04.3")
def softmax_of_a_row(answer: Callable) -> str:
    """InfoNCE is a classification: which of the captions of the row belongs to the picture?

    Divide by the temperature, take the softmax of each row, and the logarithm of the match's share.

    `-(scores / temperature).log_softmax(dim=1).diagonal().mean()`.
    """
    inputs = [(batch, temperature) for batch in batches() for temperature in (0.05, 0.5)]
    says = f"equal to InfoNCE on {len(inputs)} random batches"
    return agrees(answer, lambda batch, temperature: InfoNCE(temperature)(*matches_of(batch)), inputs, says)


@exercise("04.4")
def semi_hard_choice(answer: Callable) -> str:
    """There are three kinds of negatives: inside the band below s⁺, at or above s⁺, and easy ones. Begin with a mask
    for each.

    Choose for each kind separately: the hardest inside (`argmax`), the softest above (`argmin`), the hardest easy one.
    Then combine the three by `torch.where`, the band first.

    `inside = (scores < match) & (scores > match - margin)`. Cells that a mask leaves out become −9 before `argmax`, and
    9 before `argmin`. At last `torch.where(inside.any(1), in_band, torch.where(above.any(1), softest, easy))`.
    """
    inputs = [(batch, margin) for batch in batches() for margin in (0.05, 0.2)]

    def expected(batch: Tensor, margin: float) -> Tensor:
        return SemiHard(margin)(*matches_of(batch), generator=Generator())

    return agrees(answer, expected, inputs, f"the choice of SemiHard in {len(inputs)} random batches")


@exercise("04.5")
def a_variation(answer: Recipe) -> str:
    """One call of `replace` makes both changes.

    `recipe.replace(a=…, b__c=…)`: a double underscore changes one parameter of a part and keeps the others. A new
    sampler would have its own defaults.

    `.replace(memory=None, sampler__prior=…)`.
    """
    wanted = recipe("fne").replace(memory=None, sampler__prior=1e-4)
    difference = first_difference(answer.to_json(), wanted.to_json())
    wrong_if(difference, f"{difference}, where “there” is your recipe")
    return "two things are changed, and everything else is fne's"


# 06 How probable is it that a negative is false?

STATISTICS = (Statistics(0.6, 0.1, 0.3, 0.1), Statistics(0.7, 0.08, 0.4, 0.15))


@exercise("06.1")
def posterior_of_scores(answer: Callable) -> str:
    """A normal density is exp(−(s − μ)² / 2σ²) / (σ·√(2π)). The factor √(2π) cancels out of the quotient.

    Compute p·N(s; μ⁺, σ⁺) and (1 − p)·N(s; μ⁻, σ⁻), and divide the first by the sum of both.

    `match = prior * torch.exp(-((scores - statistics.positive_mean) / statistics.positive_std) ** 2 / 2) /
    statistics.positive_std`; the same for `other` with 1 − prior and the negatives; `match / (match + other)`.
    """
    values = torch.linspace(-0.2, 1, 25, dtype=torch.float64)
    inputs = [(values, statistics, prior) for statistics in STATISTICS for prior in (0.5, 0.01)]

    def expected(values: Tensor, statistics: Statistics, prior: float) -> Tensor:
        return posterior(values, statistics, prior=prior, monotone=False)

    return agrees(answer, expected, inputs, f"equal to itmlab.samplers.posterior in {len(inputs)} settings")


@exercise("06.2")
def weights_of_negatives(answer: Callable) -> str:
    """Two cases, cell by cell: the posterior is at least λ, or it is not.

    Compute the posterior with your function, then both weights for all cells, and choose with `torch.where`. s⁺ needs
    one more axis: `positive_scores[:, None]`.

    `torch.where(p >= threshold, torch.exp(-p), torch.exp(-sharpness * (scores - positive_scores[:, None]) ** 2))`.
    """
    settings = {"prior": 0.01, "threshold": 0.05, "sharpness": 0.5}
    pairs = [(batch.double(), statistics) for batch in batches() for statistics in STATISTICS]
    inputs = [(batch, batch.diagonal(), statistics, *settings.values()) for batch, statistics in pairs]

    def expected(batch: Tensor, matches: Tensor, statistics: Statistics, *_: float) -> Tensor:
        return sampling_weights(batch, matches, statistics, **settings, monotone=False)

    return agrees(answer, expected, inputs, "equal to itmlab.samplers.sampling_weights")


@cache
def _study() -> Any:
    return analysis.study(run("fne"), scenes())


SETTINGS = ("prior", "threshold", "sharpness", "margin", "preset")


@exercise("06.3")
def few_false_negatives(answer: dict) -> str:
    """Only one of the settings decides how easy a negative may be. Move each in the explorer.

    The released weights draw nothing that scores at or below μ⁺ less the margin. The smaller the margin, the harder
    what is drawn, and at some point the false negatives are nearly all that is left.

    Keep the prior of 0.1 and make the margin a little larger than 0.2.
    """
    settings, study = dict(answer), _study()
    wrong_if("picture" not in settings, f"the settings should say which picture, besides {', '.join(SETTINGS)}")
    picture = within(called(int, settings.pop("picture")), scenes(), "picture")
    for name in settings.keys() - set(SETTINGS):
        raise Wrong(f"there is no setting {name!r}: {did_you_mean(name, SETTINGS)}")
    judged = called(analysis.judge, study, picture, draws=1, **settings)
    true, drawn = judged.truth_label == 1, judged.weight / max(judged.weight.sum(), 1e-9)
    count = true[:8].sum()
    wrong_if(count < 3, f"of the picture's eight hardest captions only {count} are true; take one with three")
    share_true, mean = float(drawn[true].sum()), float(drawn @ judged.score)
    says = f"{share_true:.1%} of the draws are false negatives, and those drawn score {mean:.2f} on average"
    wrong_if(share_true >= 0.1, f"{share_true:.1%} of the draws go to captions that are true")
    hard = study.sampler.statistics.negative_mean
    wrong_if(mean < hard, f"{says}; a batch's hardest score {hard:.2f}")
    return says


# 08 Hard negatives made in feature space.


@exercise("08.1")
def read_out_of_a_memory(answer: Callable) -> str:
    """There are two kernels: between the prototypes (a square matrix), and of the anchor with each prototype (a row).

    `torch.cdist(prototypes, prototypes)` holds distances. Divide each column of exp(−distance² / 2σ²) by its sum, add ε
    on the diagonal and invert. The prototypes are the columns of X, so X is `prototypes.T`.

    `w = prototypes.T @ torch.linalg.inv(k / k.sum(0) + epsilon * torch.eye(len(k)))`, and the result is
    `w @ torch.softmax(-distances_to_anchor ** 2 / (2 * sigma**2), dim=0)`.
    """
    anchor, *prototypes = normalize(uniform(6, 5).double() - 0.5, dim=1)
    inputs = [(anchor, torch.stack(prototypes), sigma, 1e-3) for sigma in (0.2, 0.5, 1.0)]

    def expected(anchor: Tensor, prototypes: Tensor, sigma: float, epsilon: float) -> Tensor:
        return synthetic_negative(anchor, prototypes, sigma=sigma, regularisation=epsilon)

    return agrees(answer, expected, inputs, f"equal to the package's memory for {len(inputs)} widths", tolerance=1e-3)


@cache
def _batch() -> Any:
    return analysis.synthesis_batch(run("triplet"), scenes(), pairs=128, seed=0)


@exercise("08.2")
def the_hardest_kernel(answer: float) -> str:
    """The curve above has a maximum.

    Too narrow, and the memory gives back one prototype; too wide, and it gives the cluster's centre. Try a grid.

    Take a σ two to three times the paper's 0.1.
    """
    wrong_if(not 1e-3 <= answer <= 100, f"σ = {answer:g} is no width for vectors of length 1")
    grid = [*torch.logspace(-1.3, 0.3, 17).tolist(), answer]
    hardness = analysis.memory_sweep(_batch(), "sigma", grid).curves["identity"]["hardness"]
    says = f"at σ = {answer:g} the hardest synthetic negative has a cosine of {hardness[-1]:.3f} on average"
    wrong_if(hardness[-1] < hardness.max() - 0.005, f"{says}; there is a σ with {hardness.max():.3f}")
    return says


@exercise("08.3")
def when_noise_counts(answer: float) -> str:
    """Random directions have a cosine near 0. Does a flat softmax or a sharp one give them more?

    Higher than the paper's 0.05: the flatter e^(s/τ), the more 128 random directions count. Read the figure.

    Read it where the curve of the Gaussian noise crosses ten percent, between 0.1 and 0.5.
    """
    wrong_if(not 1e-3 <= answer <= 100, f"τ = {answer:g} is no temperature for cosines")
    shares = analysis.shares_by_temperature(_batch(), [answer], SynHNC(clusters=8, sigma=0.2))
    noise = float(shares["Gaussian noise"][0])
    says = f"at τ = {answer:g} the random directions have {noise:.1f} % of the denominator"
    wrong_if(abs(noise - 10) > 2, says)
    return says


# 09 How good is a ranking really?


@exercise("09.1")
def ncs_of_a_ranking(answer: Callable) -> str:
    """For each query two sums of φ: over the k candidates with the highest scores, and over the k with the highest φ.

    `scores.topk(k, dim=1).indices` finds the first k, and `relevance.gather(1, …)` reads their φ. The other sum is
    `relevance.topk(k, dim=1).values.sum(dim=1)`.

    Divide the first sum by the second for each query, take the mean over queries, times 100.
    """
    inputs = [(*uniform(2, 6, 20, seed=k), k) for k in (1, 5, 10)]
    return agrees(answer, ncs, inputs, f"equal to itmlab.metrics.ncs on {len(inputs)} random rankings")


@exercise("09.2")
def words_and_truth(answer: tuple[tuple[int, int], tuple[int, int]]) -> str:
    """Three matrices of (picture, caption) hold all that you need. Which?

    `retrieved.truth` and `retrieved.relevance["CIDEr"]`; `retrieved.positives` marks the annotated pairs, which do not
    count.

    `((retrieved.truth == 0) & ~retrieved.positives & (phi > 1)).nonzero()[0]` is the first pair; the second has the
    truth 1 and φ below 0.01.
    """
    cider = Cider(scenes().captions_of())
    loud, quiet = (unannotated(*pair, label) for pair, label in zip(answer, ("false", "true"), strict=True))
    most, least = (float(cider.matrix([words])[0, pair[0]]) for pair, words in zip(answer, (loud, quiet), strict=True))
    wrong_if(most <= 1, f"of the false pair CIDEr is {most:.2f}, and should be above 1")
    wrong_if(least >= 0.01, f"of the true pair CIDEr is {least:.2f}, and should be below 0.01")
    return f"CIDEr finds words, not truth: “{loud}” and “{quiet}”"


@exercise("09.3")
def hinge_with_adaptive_margin(answer: Callable) -> str:
    """The margin takes the place of the fixed one in [margin − s⁺ + s⁻]₊.

    The margin of an anchor is (φ⁺ − φ⁻) / τ, at most 1; `clamp` limits it. Where the negative describes the picture
    better than the match, the margin is below 0, and stays so.

    `margin = ((phi_match - phi_negative) / temperature).clamp(max=1)`, then
    `(margin - match_scores + negative_scores).clamp(min=0)`.
    """
    phi, cosines = 10 * uniform(2, 12), uniform(2, 12, seed=1)
    inputs = [(*phi, *cosines, temperature) for temperature in (2.0, 10.0)]

    def expected(phi_match: Tensor, phi_negative: Tensor, match: Tensor, negative: Tensor, tau: float) -> Tensor:
        return (adaptive_margin(phi_match, phi_negative, tau) - match + negative).relu()

    return agrees(answer, expected, inputs, "equal to SAM's hinge for 12 random anchors at two temperatures")
