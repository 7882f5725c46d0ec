"""Recipes: the values that decide a training run, and the papers' values by name.

>>> recipe("fne", size="base").sampler.prior, recipe("tags_dc", size="large").tags.hardest
(0.0001, 23)
"""

from .named import names, recipe

__all__ = ["names", "recipe"]
