"""The notebooks' exercises, judged by the world, the models that ship and the package's own functions."""

from . import bench, judging, maps, scores, sentences
from .judging import Verdict, check
from .sentences import ten_pairs

__all__ = ["Verdict", "bench", "check", "judging", "maps", "scores", "sentences", "ten_pairs"]
