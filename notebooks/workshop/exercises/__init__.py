"""The notebooks' exercises, judged by the world, the models that ship and the package's own functions."""

from . import equations, judging, scores, sentences
from .judging import Verdict, check

__all__ = ["Verdict", "check", "equations", "judging", "scores", "sentences"]
