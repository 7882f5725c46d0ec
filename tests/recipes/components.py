"""Custom components, one of each kind, as a user would write them."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.functional import normalize, softplus

from itmlab.models import DualEncoder, Encoded
from itmlab.models.encoded import masked_mean, unit
from itmlab.samplers import Sampler
from itmlab.samplers.base import best, usable
from itmlab.synthesis import FeatureNegatives, Negative

RANK = 4
COLOURS = {"red": "green", "green": "blue", "blue": "yellow", "yellow": "red"}


class FifthHardest(Sampler):
    def __init__(self, rank: int = RANK):
        self.rank = rank

    def choose(self, scores, positives, positive_scores, *, generator):
        return best(scores, usable(scores, positives), self.rank)


def soft_hinges(scores, positives, positive_scores, margin=0.2):
    gaps = (scores - positive_scores[:, None] + margin).masked_fill(positives, -9)
    return softplus(10 * gaps).mean() / 10


class LearntTemperature(nn.Module):
    """InfoNCE whose temperature is learnt."""

    def __init__(self, temperature: float = 0.05):
        super().__init__()
        self.temperature = temperature
        self.log_scale = nn.Parameter(torch.tensor(1 / temperature).log())

    def forward(self, scores, positives, positive_scores):
        own = positive_scores[:, None]
        logits = torch.cat([own, scores.masked_fill(positives, -9)], dim=1) * self.log_scale.exp()
        return (logits.logsumexp(1) - logits[:, 0]).mean()


@dataclass
class Between:
    """A negative between the anchor and its hardest one."""

    share: float = 0.5

    def __call__(self, anchors, candidates, positives, *, generator):
        nearest = (anchors @ candidates.T).masked_fill(positives, -9).argmax(dim=1)
        mixed = normalize(self.share * anchors + (1 - self.share) * candidates[nearest], dim=1)
        return FeatureNegatives(mixed[:, None], ~positives.all(dim=1, keepdim=True))


def other_colour(captions, graphs, image_captions, *, generator):
    return [
        [
            Negative(caption.replace(colour, other), replacement=(other,))
            for colour, other in COLOURS.items()
            if colour in caption
        ]
        for caption in captions
    ]


class MeanOfPieces(DualEncoder):
    """No transformer on the side of captions."""

    def __init__(self, config, tokenizer):
        super().__init__(config, tokenizer)
        self.pieces = nn.Embedding(config.vocabulary_size, config.dimension)

    def encode_captions(self, tokens, *, attentions=False):
        local = self.pieces(tokens["input_ids"])
        pooled = masked_mean(local, tokens["word_mask"], otherwise=tokens["attention_mask"].bool())
        return Encoded(unit(pooled), local, tokens["word_mask"])
