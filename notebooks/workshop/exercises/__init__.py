"""The notebooks' exercises, judged by the world, the models that ship and the package's own functions."""

from . import bench, equations, judging, maps, sentences
from .judging import Verdict, check
from .sentences import ten_pairs

__all__ = ["Verdict", "bench", "check", "equations", "judging", "maps", "sentences", "ten_pairs"]
