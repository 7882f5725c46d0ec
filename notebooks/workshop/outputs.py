"""What notebooks have shown: figures saved to disk, and outputs kept in the notebooks so that GitHub shows them."""

import base64
import hashlib
import io
from pathlib import Path
from typing import Any

from PIL import Image

from itmlab.errors import ItmlabError
from itmlab.storage import read_json, write_bytes

PLOTLY = "application/vnd.plotly.v1+json"
KEPT = ("text/plain", "text/html", "text/markdown", "image/jpeg", "image/png", "image/svg+xml")  # no interactive data
LARGEST = 1_500_000  # bytes of a notebook with its outputs
BELONGS = "itmlab_outputs"  # metadata of a notebook: the digest of the code that its outputs belong to


def save_figures(notebook: Any, number: str, folder: Path) -> int:
    """Save every plotly figure that an executed notebook shows as NUMBER_1, NUMBER_2, ...; return how many.

    Each figure in the notebook gets a JPEG, for pages that draw no plotly, such as GitHub's. It is not a PNG because
    JupyterLab's plotly extension would show a PNG in place of the figure.
    """
    import plotly.graph_objects as go

    from .plots.saving import save

    outputs = [output for cell in code_cells(notebook) for output in cell["outputs"]]
    shown = [output["data"] for output in outputs if PLOTLY in output.get("data", {})]
    for place, content in enumerate(shown, start=1):
        figure = go.Figure({key: content[PLOTLY][key] for key in ("data", "layout")})
        if picture := save(figure, f"{number}_{place}", {"notebook": number}, directory=folder):
            content["image/jpeg"] = _jpeg(picture)
    return len(shown)


def _jpeg(picture: bytes) -> str:
    """Return a PNG as a JPEG in base64."""
    buffer = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").save(buffer, "JPEG", progressive=True, optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()


def keep_outputs(notebook: Path, executed: Path) -> None:
    """Copy the outputs of an executed copy into its notebook: text and static pictures, no interactive data.

    Raises:
        ItmlabError: the copy has other code, or the notebook would be too large for GitHub to show.
    """
    import nbformat

    content, copy = nbformat.read(notebook, as_version=4), nbformat.read(executed, as_version=4)
    if code_digest(content) != code_digest(copy):
        raise ItmlabError("its outputs belong to other code", where=str(executed), remedy="run the tour again")
    for cell, run in zip(code_cells(content), code_cells(copy), strict=True):
        cell["execution_count"] = run["execution_count"]
        cell["outputs"] = [kept for output in run["outputs"] if (kept := _kept(output))]
    content["metadata"][BELONGS] = code_digest(content)
    written = (nbformat.writes(content) + "\n").encode()
    if len(written) > LARGEST:
        raise ItmlabError(f"{len(written) / 1e6:.1f} MB with its outputs", where=notebook.name, remedy="show less")
    write_bytes(notebook, written)


def outputs_belong(notebook: Path) -> bool:
    """Return whether the outputs in a notebook came from its present code."""
    content = read_json(notebook)
    return content["metadata"].get(BELONGS) == code_digest(content)


def code_cells(notebook: Any) -> list[Any]:
    """Return the code cells of a notebook."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def code_digest(notebook: Any) -> str:
    """Return a digest of a notebook's code."""
    sources = ["".join(cell["source"]) for cell in code_cells(notebook)]
    return hashlib.sha256("\n\n".join(sources).encode()).hexdigest()[:16]


def _kept(output: Any) -> Any:
    """Return what of an output stays in the notebook, or None."""
    import nbformat

    if output["output_type"] == "stream":
        return output if output["name"] == "stdout" else None
    if "data" not in output:
        return None
    data = {kind: value for kind, value in output["data"].items() if kind in KEPT}
    if any(kind.startswith("image/") for kind in data):
        data.pop("text/html", None)  # the picture says it
    if "".join(data.get("text/html", "")).startswith("<style>"):
        return None  # of the interactive figures
    if not data or (set(data) == {"text/plain"} and len(output["data"]) > 1):
        return None  # a widget's class name says nothing
    return nbformat.from_dict({**output, "data": data, "metadata": {}})
