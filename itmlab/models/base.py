"""A model as a directory: config.json, tokenizer.json and model.safetensors, read back without running code."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..errors import ItmlabError
from ..storage import read_json, write_bytes, write_json
from ..text.tokens import encode_captions, load_tokenizer, save_tokenizer

if TYPE_CHECKING:
    from PIL.Image import Image

    from .config import TwoTowerConfig


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
    directory: str | Path, kind: type[nn.Module], *, attention: Literal["sdpa", "eager"] | None = None
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


# How every model reads captions: into pieces, what is too long cut, counted and said.


class CutCaptions(UserWarning):
    """Captions longer than the model reads lost their last words."""


class ReadsCaptions(nn.Module):
    """A module with a `tokenizer`, a `config` that has `maximum_tokens`, and the count `captions_cut`."""

    def prepare_captions(self, captions: Sequence[str]) -> dict[str, Tensor]:
        """`input_ids`, `attention_mask`, `word_mask` of captions; longer ones are cut, counted and warned of."""
        tokens, cut = encode_captions(self.tokenizer, captions, self.config.maximum_tokens)
        if cut:
            before, self.captions_cut = self.captions_cut, self.captions_cut + cut
            if len(str(before)) < len(str(self.captions_cut)) or not before:  # once per power of ten, not per batch
                what = f"{self.captions_cut} so far cut to {self.config.maximum_tokens} tokens, their last words unread"
                warnings.warn(f"captions: {what}", CutCaptions, stacklevel=2)
        return tokens


# From a picture to the tensor that an image tower reads, with Pillow, NumPy and torch only.


@dataclass(frozen=True)
class ImagePreparation:
    """Resize to a square of `size` px, then (value / 255 − mean) / deviation per channel.

    Without `shortest_edge` the whole picture is squeezed into the square, as ViT checkpoints expect and so that no
    object is lost. With it the shorter edge is brought to that length and the centre is cut out, as CLIP does.
    """

    size: int
    shortest_edge: int | None = None
    interpolation: str = "bilinear"
    mean: tuple[float, float, float] = (0.5, 0.5, 0.5)
    deviation: tuple[float, float, float] = (0.5, 0.5, 0.5)

    @classmethod
    def of(cls, config: "TwoTowerConfig") -> "ImagePreparation":
        """The preparation that a model configuration asks for."""
        return cls(config.image_size, config.shortest_edge, config.interpolation, config.mean, config.deviation)

    def __call__(self, pictures: "Sequence[Image]") -> Float[Tensor, "n 3 size size"]:
        """One tensor for all pictures; any Pillow mode is read as RGB."""
        if not len(pictures):
            raise ItmlabError("there is no picture to prepare", remedy="give at least one")
        stacked = np.stack([np.asarray(self._fitted(picture.convert("RGB"))) for picture in pictures])
        values = torch.from_numpy(stacked).permute(0, 3, 1, 2).to(torch.float32)
        mean, deviation = (torch.tensor(three).view(1, 3, 1, 1) for three in (self.mean, self.deviation))
        return ((values / 255 - mean) / deviation).contiguous()

    def _fitted(self, picture: "Image") -> "Image":
        from PIL.Image import Resampling

        filter_ = Resampling[self.interpolation.upper()]
        if self.shortest_edge is None:
            return picture if picture.size == (self.size, self.size) else picture.resize((self.size,) * 2, filter_)
        picture = _without_ends(picture)
        short = min(picture.size)
        width, height = (int(self.shortest_edge * edge / short) for edge in picture.size)
        resized = picture if picture.size == (width, height) else picture.resize((width, height), filter_)
        # Floor division also places a crop larger than the picture, whose surroundings Pillow fills with black.
        left, top = (width - self.size) // 2, (height - self.size) // 2
        return resized.crop((left, top, left + self.size, top + self.size))


def _without_ends(picture: "Image") -> "Image":
    """The middle of a picture longer than 8:1, whose ends no crop reaches but whose resizing may need gigabytes."""
    reach = 8 * min(picture.size)
    if max(picture.size) <= reach:
        return picture
    width, height = picture.size
    left, top = max(0, (width - reach) // 2), max(0, (height - reach) // 2)
    return picture.crop((left, top, min(width, left + reach), min(height, top + reach)))
