"""The notebooks' exercises, judged by the world, the models that ship and the package's own functions."""

from . import bench, judging, scores, sentences
from .judging import Verdict, check

__all__ = ["Verdict", "bench", "check", "judging", "scores", "sentences"]
