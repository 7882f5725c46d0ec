"""A workbench for image-text matching with hard, synthetic and false negatives."""

import os

import lazy_loader as lazy

__version__ = "0.1.0"

# GNU's OpenMP, on which torch computes, spins for milliseconds where a thread waits for the others. Two processes with
# a thread for each core (two notebooks open at once) then hold the cores that the other waits for, and a step of either
# takes 70 to 90 times as long; spinning a thirtieth of that it is 5 to 6 times, and alone no slower. Read with torch.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")

# Each name is brought in when it is first used, so that `import itmlab` stays quick.
_FOLDERS = ("data", "losses", "metrics", "models", "samplers", "scenes", "storage", "synthesis", "text", "train")
_NAMES = {
    "data": ["load"],
    "errors": ["ItmlabError"],
    "train": ["compare", "ensemble", "mine", "pretrained", "recipe", "Recipe", "Run"],
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, _FOLDERS, _NAMES)
__all__ += ["__version__"]
