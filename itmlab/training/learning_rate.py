"""The learning rate as a function of the position alone, so that a resumed run needs no scheduler state."""

import math

from .recipe import OptimiserSettings


def learning_rate_at(settings: OptimiserSettings, step: int, steps_an_epoch: int, epochs: float) -> float:
    """The rate of step `step` (from 0): a linear warm-up, then constant, stepped, linear to 0 or cosine to 0.

    `epochs` are those of the whole run; where it ends within one, not a whole number.
    """
    epoch, warm_up = step / steps_an_epoch, settings.warm_up or settings.warm_up_share * epochs
    if epoch < warm_up:
        return settings.learning_rate * (step + 1) / (math.ceil(warm_up * steps_an_epoch) + 1)
    progress = min(1.0, (epoch - warm_up) / max(epochs - warm_up, 1 / steps_an_epoch))
    factor = {
        "constant": 1.0,
        "step": 0.1 ** sum(epoch >= milestone for milestone in settings.milestones),
        "linear": 1 - progress,
        "cosine": (1 + math.cos(math.pi * progress)) / 2,
    }[settings.schedule]
    return settings.learning_rate * factor
