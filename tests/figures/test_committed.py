"""The figures that are kept with the project are read back as they were saved."""

import sys

import plotly.graph_objects as go
import pytest

from itmlab.errors import ItmlabError
from itmlab.figures import committed, save


def test_a_committed_figure_is_read_back(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sys.modules["itmlab.figures.committed"], "project_directory", lambda: tmp_path)
    save(go.Figure(go.Bar(x=["a"], y=[2.5])), "bars", {"seed": 0}, directory=tmp_path / "figures")
    assert list(committed("bars").data[0].y) == [2.5]
    with pytest.raises(ItmlabError, match="there are: bars"):
        committed("lines")


def test_an_installed_copy_has_none(monkeypatch) -> None:
    monkeypatch.setattr(sys.modules["itmlab.figures.committed"], "project_directory", lambda: None)
    with pytest.raises(ItmlabError, match="git clone"):
        committed("bars")
