"""Exercises about scores, samplers, features, measures and what they decide: notebooks 04 to 09.

A function an exercise, as in `sentences`.
"""

from functools import cache
from itertools import pairwise
from typing import Any

import torch

from itmlab.fields import did_you_mean
from itmlab.losses import TripletLoss, adaptive_margin
from itmlab.metrics import Cider, ncs
from itmlab.samplers import Hardest, Random, SemiHard, Softest, Statistics, posterior
from itmlab.synthesis import SynHNC
from itmlab.synthesis.synhnc import associate, squared_distances
from itmlab.train import recipe
from itmlab.train.recipes import Recipe

from .judging import Wrong, exercise, near, run, scenes, scores, truth, typed_as, within

# 04 Training: which negative?


@exercise("04.1")
def samplers_by_hardness(answer: tuple[str, ...]) -> str:
    """The softest is the one with the lowest score. Semi-hard is the hardest of those that score below the match."""
    samplers = {"random": Random(), "softest": Softest(), "semi-hard": SemiHard(), "hardest": Hardest()}
    if unknown := [name for name in answer if name not in samplers]:
        raise Wrong(f"no sampler {unknown[0]!r} is asked for: {did_you_mean(unknown[0], samplers)}")
    if sorted(answer) != sorted(samplers):
        raise Wrong(f"each of {', '.join(samplers)} should be there once")
    scores_of_fne, positives = scores("fne"), scenes().positives
    matches = scores_of_fne.masked_fill(~positives, -torch.inf).max(dim=1).values
    taken = {}
    for name, sampler in samplers.items():
        chosen = sampler(scores_of_fne, positives, matches, generator=torch.Generator().manual_seed(0))
        taken[name] = float(scores_of_fne.gather(1, chosen.clamp(min=0)[:, None])[chosen >= 0].mean())
    for easier, harder in pairwise(answer):
        if taken[easier] > taken[harder]:
            raise Wrong(f"{easier} takes harder negatives than {harder}")
    return "by the mean score of their negatives: " + ", ".join(f"{name} {taken[name]:.2f}" for name in answer)


@exercise("04.2")
def a_variation(answer: Recipe) -> str:
    """`recipe.replace(a=…, b__c=…)`: a double underscore changes one parameter of a part and keeps the others. A new
    sampler has its own defaults.
    """
    wanted = recipe("fne", start="aligned").replace(memory=None, sampler__prior=1e-4)
    answered, expected = _flat(answer.to_json()), _flat(wanted.to_json())
    for field in [*expected, *answered]:
        value, expected_value = answered.get(field, "not there"), expected.get(field, "not there")
        if value != expected_value:
            raise Wrong(f"{field} is {value}, and should be {expected_value}")
    return "two things are changed, and everything else is fne's"


def _flat(value: Any, field: str = "") -> dict[str, Any]:
    """The fields of a recipe under their whole names."""
    if not isinstance(value, dict):
        return {field: value}
    parts = (_flat(part, f"{field}.{name}".strip(".")) for name, part in value.items())
    return {name: leaf for leaves in parts for name, leaf in leaves.items()}


@exercise("04.3")
def two_hinges(answer: tuple[float, float]) -> str:
    """The hinge of a negative is [α − s⁺ + s⁻]₊, and 0 where that is negative. SH adds up all three."""
    row, positives = torch.tensor([[0.7, 0.6, 0.55, 0.2]]), torch.tensor([[True, False, False, False]])
    for reduce, value, name in (("sum", answer[0], "the sum SH"), ("hardest", answer[1], "the maximum MH")):
        near(value, float(TripletLoss(0.2, reduce)(row, positives, row[:, 0])), 0.002, name)
    return "and the easiest of the three adds nothing to either"


# 06 How probable is it that a negative is false?


@cache
def _study() -> Any:
    from ..analysis.false_negatives import study

    return study(run("fne"), scenes())


SETTINGS = ("prior", "threshold", "sharpness", "margin", "preset")


@exercise("06.1")
def few_false_negatives(answer: dict) -> str:
    """The released weights draw nothing that scores at or below μ⁺ less the margin. The smaller the margin, the harder
    what is drawn, and at some point the false negatives are nearly all that is left.
    """
    from ..analysis.false_negatives import judge

    settings, study = dict(answer), _study()
    if "picture" not in settings:
        raise Wrong(f"the settings should say which picture, besides {', '.join(SETTINGS)}")
    picture = within(typed_as(int, settings.pop("picture")), scenes(), "picture")
    for name in settings.keys() - set(SETTINGS):
        raise Wrong(f"there is no setting {name!r}: {did_you_mean(name, SETTINGS)}")
    try:
        judged = judge(study, picture, draws=1, **settings)
    except TypeError as error:
        raise Wrong(f"these settings cannot be computed with: {error}") from None
    true, drawn = judged.truth_label == 1, judged.weight / max(judged.weight.sum(), 1e-9)
    if true[:8].sum() < 3:
        message = f"of picture {picture}'s eight hardest captions only {true[:8].sum()} are true"
        raise Wrong(f"{message}; take one with three")
    share_true, mean, statistics = float(drawn[true].sum()), float(drawn @ judged.score), study.sampler.statistics
    if share_true >= 0.1:
        raise Wrong(f"{share_true:.1%} of the draws go to captions that are true")
    if mean < statistics.negative_mean:
        hard = f"those drawn score {mean:.2f} on average, and a batch's hardest {statistics.negative_mean:.2f}"
        raise Wrong(f"only {share_true:.1%} of the draws are false negatives, but {hard}")
    return f"{share_true:.1%} of the draws are false negatives, and those drawn score {mean:.2f} on average"


@exercise("06.2")
def bayes_by_hand(answer: float) -> str:
    """p·N(s; μ⁺, σ⁺) over that plus (1 − p)·N(s; μ⁻, σ⁻). As the deviations are equal, only the exponents count: e^−0.5
    and e^−2.
    """
    right = float(posterior(torch.tensor([0.5]), Statistics(0.6, 0.1, 0.3, 0.1), prior=0.01)[0])
    near(answer, right, 0.002, "the probability")
    return f"{right:.1%}: nearer to a match, and yet most likely none, as mismatches are a hundred times as many"


# 08 Hard negatives made in feature space.


@cache
def _batch() -> Any:
    from ..analysis.kernel_memory import synthesis_batch

    return synthesis_batch(run("triplet"), scenes(), pairs=128, seed=0)


@exercise("08.1")
def the_hardest_kernel(answer: float) -> str:
    """Too narrow, and the memory gives back one prototype; too wide, and it gives the cluster's centre. Try a grid."""
    from ..analysis.synthesis import memory_sweep

    if not 1e-3 <= answer <= 100:
        raise Wrong(f"σ = {answer:g} is no width for vectors of length 1")
    grid = [*torch.logspace(-1.3, 0.3, 17).tolist(), answer]
    hardness = memory_sweep(_batch(), "sigma", grid, weights=["identity"]).curves["identity"].hardness
    if hardness[-1] < hardness.max() - 0.005:
        raise Wrong(
            f"at σ = {answer:g} the hardest has a cosine of {hardness[-1]:.3f}; there is a σ with {hardness.max():.3f}"
        )
    return f"at σ = {answer:g} the hardest synthetic negative has a cosine of {hardness[-1]:.3f} on average"


@exercise("08.2")
def kernel_weights_by_hand(answer: float) -> str:
    """‖q − x‖² = 2 − 2·cosine, so 0.8 and 1.4; divided by 2σ², and then a softmax of the two."""
    cosines = torch.tensor([0.6, 0.3])
    prototypes = torch.stack([cosines, (1 - cosines**2).sqrt()], dim=1)
    to_query, between = (squared_distances(x, prototypes) for x in (torch.tensor([[1.0, 0.0]]), prototypes))
    settings = {"clusters": 1, "sigma": 0.5, "weights": "identity"}
    right = float(associate(to_query, between, torch.zeros(1, 2, dtype=torch.int64), **settings).kernel[0, 0])
    near(answer, right, 0.005, "the weight of the nearer one")
    return f"{right:.3f} and {1 - right:.3f}"


@exercise("08.3")
def when_noise_counts(answer: float) -> str:
    """Higher than the paper's 0.05: the flatter e^(s/τ), the more 128 random directions count. Read the figure."""
    from ..analysis.synthesis import shares_by_temperature

    if not 1e-3 <= answer <= 100:
        raise Wrong(f"τ = {answer:g} is no temperature for cosines")
    noise = float(shares_by_temperature(_batch(), [answer], SynHNC(clusters=8, sigma=0.2))["Gaussian noise"][0])
    if abs(noise - 10) > 2:
        raise Wrong(f"at τ = {answer:g} the random directions have {noise:.1f} % of the denominator")
    return f"at τ = {answer:g} the random directions have {noise:.1f} % of the denominator"


# 09 How good is a ranking really?


@cache
def _cider() -> Cider:
    return Cider(scenes().captions_of())


@exercise("09.1")
def words_and_truth(answer: tuple[tuple[int, int], tuple[int, int]]) -> str:
    """`retrieved.truth` and `retrieved.relevance["CIDEr"]` are of (picture, caption); `retrieved.positives` marks the
    annotated pairs, which do not count.
    """
    data, wanted = scenes(), (("false", "above 1"), ("true", "below 0.01"))
    for (picture, caption), (label, bound) in zip(answer, wanted, strict=True):
        within(picture, data, "picture"), within(caption, data.captions, "caption")
        phi = float(_cider().matrix([data.captions[caption]])[0, picture])
        truth_name = {1: "true", 0: "false", -1: "undecided"}[int(truth()[picture, caption])]
        annotated = "annotated, " if data.positives[picture, caption] else ""
        if annotated or truth_name != label or not (phi > 1 if label == "false" else phi < 0.01):
            message = f"picture {picture} and caption {caption} are {annotated}{truth_name}, CIDEr {phi:.2f}"
            raise Wrong(f"{message}; wanted {label}, {bound}, not annotated")
    return "CIDEr finds words, not truth: " + " and ".join(f"“{data.captions[caption]}”" for _, caption in answer)


@exercise("09.2")
def ncs_by_hand(answer: float) -> str:
    """What the first three hold, 0.9 + 0.1 + 0.6, over what three could hold at most."""
    relevance = torch.tensor([[0.9, 0.1, 0.6, 0.0, 1.5]])
    right = ncs(torch.arange(5, 0, -1.0)[None], relevance, 3)
    near(answer, right, 0.2, "NCS@3 in percent")
    return f"{right:.1f} %"


@exercise("09.3")
def a_margin_by_hand(answer: tuple[float, float]) -> str:
    """α = (φ⁺ − φ⁻) / τ, and the loss is [α − s⁺ + s⁻]₊."""
    margin = adaptive_margin(torch.tensor([3.0]), torch.tensor([1.2]), temperature=10)
    loss = TripletLoss(float(margin))(torch.tensor([[0.45]]), torch.tensor([[False]]), torch.tensor([0.6]))
    near(answer[0], float(margin[0]), 0.002, "the margin")
    near(answer[1], float(loss), 0.002, "the loss")
    return (
        f"a margin of {float(margin[0]):.2f}, a loss of {float(loss):.2f}; with a fixed margin of 0.2 it would be 0.05"
    )
