"""The runs that the tests of training train once."""

from tests.training.conftest import data, finished, finished_once, one_thread

__all__ = ["data", "finished", "finished_once", "one_thread"]
