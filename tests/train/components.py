"""Custom components as a user would write them."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.functional import normalize

from itmlab.losses import Loss
from itmlab.samplers import Sampler
from itmlab.samplers.base import best, usable
from itmlab.synthesis import FeatureNegatives, Synthesiser
from itmlab.text import parse


def nouns(captions, numbers):
    graphs = parse([captions[number] for number in numbers.tolist()])
    return [{entity.lemma for entity in graph.objects} for graph in graphs]


@dataclass
class NoSharedNoun(Sampler):
    """The hardest negative whose caption shares no noun with the anchor's."""

    def choose(self, scores, positives, positive_scores, *, generator, context):
        anchors = nouns(context.captions, context.anchor_captions)
        candidates = nouns(context.captions, context.candidate_captions)
        shared = torch.tensor([[bool(first & second) for second in candidates] for first in anchors])
        return best(scores, usable(scores, positives | shared.to(scores.device)))


@dataclass
class GrowingMargin(Loss):
    """A triplet loss whose margin grows during training."""

    margin: float = 0.2

    def forward(self, scores, positives, positive_scores, context):
        margin = self.margin * (context.step + 1) / context.total_steps
        hinges = (scores - positive_scores[:, None] + margin).relu()
        return hinges.masked_fill(positives, 0).amax(dim=1)


@dataclass(eq=False)
class LearntTemperature(Loss, nn.Module):
    """InfoNCE whose temperature is learnt."""

    temperature: float = 0.05

    def __post_init__(self):
        nn.Module.__init__(self)
        self.log_scale = nn.Parameter(torch.tensor(1 / self.temperature).log())

    def forward(self, scores, positives, positive_scores):
        logits = torch.cat([positive_scores[:, None], scores.masked_fill(positives, -9)], dim=1) * self.log_scale.exp()
        return logits.logsumexp(1) - logits[:, 0]


@dataclass
class Between(Synthesiser):
    """A negative between the anchor and its hardest one."""

    share: float = 0.5

    def __call__(self, anchors, candidates, positives, *, generator):
        nearest = (anchors @ candidates.T).masked_fill(positives, -9).argmax(dim=1)
        mixed = normalize(self.share * anchors + (1 - self.share) * candidates[nearest], dim=1)
        return FeatureNegatives(mixed[:, None], ~positives.all(dim=1, keepdim=True))
