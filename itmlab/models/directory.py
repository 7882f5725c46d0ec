"""A model as a directory: config.json, tokenizer.json and model.safetensors, read back without running code."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from itmlab.errors import ItmlabError
from itmlab.storage import read_json, write_bytes, write_json
from itmlab.text.tokenise import load_tokenizer, save_tokenizer

from .two_tower import TwoTower

CONFIG_FILE, WEIGHTS_FILE = "config.json", "model.safetensors"


def save_model(model: nn.Module, directory: str | Path, *, dtype: Literal["float32", "float16"] = "float32") -> None:
    """Write the model; float16 halves the file and rounds the weights. Each file appears whole or not at all."""
    from safetensors.torch import save

    if dtype not in ("float32", "float16"):
        raise ItmlabError(f"weights cannot be stored as {dtype!r}", remedy="use float32 or float16")
    directory, number_type = Path(directory), getattr(torch, dtype)
    weights = {
        name: (value.to(number_type) if value.is_floating_point() else value).detach().cpu().contiguous()
        for name, value in model.state_dict().items()
    }
    spoilt = [name for name, value in weights.items() if value.is_floating_point() and not value.isfinite().all()]
    if spoilt:
        raise ItmlabError(f"weights not finite as {dtype}: {_listed(spoilt)}", where=str(directory))
    write_json(directory / CONFIG_FILE, model.config.to_dict())
    save_tokenizer(model.tokenizer, directory)
    write_bytes(directory / WEIGHTS_FILE, save(weights, metadata={"format": "pt"}))


def load_model(
    directory: str | Path, kind: type[nn.Module] = TwoTower, *, attention: Literal["sdpa", "eager"] | None = None
) -> nn.Module:
    """The `kind` of model that `save_model` wrote, in single precision and evaluation mode.

    `attention` overrides the saved, in a model that has the choice.
    """
    directory = Path(directory)
    values = read_json(directory / CONFIG_FILE, remedy="point at a directory that itmlab saved")
    if not isinstance(values, dict):
        raise ItmlabError("not a model configuration", where=str(directory / CONFIG_FILE))
    config = kind.config_class.from_dict(values)
    if attention is not None:
        config = replace(config, attention=attention)
    with torch.random.fork_rng(devices=[]):  # the fresh weights are thrown away: leave the caller's numbers alone
        model = kind(config, load_tokenizer(directory))
    _fill(model, _read_weights(directory / WEIGHTS_FILE), where=str(directory / WEIGHTS_FILE))
    return model.eval()


def _read_weights(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return load(path.read_bytes())
    except FileNotFoundError:
        raise ItmlabError("no such file", where=str(path), remedy="save the model again") from None
    except SafetensorError as error:
        raise ItmlabError(f"not a safetensors file: {error}", where=str(path), remedy="save the model again") from None


def _fill(model: nn.Module, weights: dict[str, Tensor], where: str) -> None:
    expected = model.state_dict()
    faults = {
        "missing": [name for name in expected if name not in weights],
        "unexpected": [name for name in weights if name not in expected],
        "misshapen": [
            f"{name} {tuple(value.shape)} for {tuple(expected[name].shape)}"
            for name, value in weights.items()
            if name in expected and value.shape != expected[name].shape
        ],
    }
    if any(faults.values()):
        what = "; ".join(f"{kind}: {_listed(names)}" for kind, names in faults.items() if names)
        raise ItmlabError(
            f"the weights do not fit config.json: {what}", where=where, remedy="keep the files of one save together"
        )
    model.load_state_dict(weights)


def _listed(names: Iterable[str], most: int = 8) -> str:
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
