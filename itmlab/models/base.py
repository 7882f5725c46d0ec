"""What every model shares: its files, how it reads captions, and how pictures become tensors.

A saved model is a directory of config.json, tokenizer.json and model.safetensors, read back without running code.
"""

import pickle
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..components import find_class
from ..errors import ItmlabError, named
from ..fields import typed
from ..storage import ordinary, read_json, refuse_foreign_files, unusable, write_bytes, write_json
from ..text.tokens import (
    NAMES_FILE,
    VOCABULARY_FILE,
    as_plain_text,
    caption_words,
    encode_captions,
    load_tokenizer,
    save_tokenizer,
)
from .config import DualEncoderConfig, ModelConfig
from .digest import KEY, digest_of, refuse_other_files
from .encoded import Encoded, cosine_similarity

if TYPE_CHECKING:
    from PIL.Image import Image
    from transformers import PreTrainedTokenizerFast

# One a picture, given the picture and what resizes it; `data.batches.Augmentation` makes them in training.
Changes = Sequence[Callable[..., "Image"]] | None
CONFIG_FILE, WEIGHTS_FILE = "config.json", "model.safetensors"
MODEL_FILES = (CONFIG_FILE, VOCABULARY_FILE, NAMES_FILE, WEIGHTS_FILE)


class CutCaptions(UserWarning):
    """Captions longer than the model reads lost their last words."""


class Model(nn.Module):
    """Base class of models: a module with a `config`, a `tokenizer` and one way to score pairs.

    A model of your own sets `config_class` and has `prepare_images`, `encode_images` and `encode_captions`; pairs are
    scored by the cosine of both sides' pooled features unless it has its own `similarity`.

    Args:
        config: sizes and settings, a `ModelConfig`.
        tokenizer: reads captions.
        exact: whether the tokeniser must have `config.vocabulary_size` pieces; published checkpoints may have more
            rows than pieces.

    Attributes:
        captions_cut: how many captions were longer than the model reads.
    """

    config_class: ClassVar[type[ModelConfig]]

    def __init__(self, config: Any, tokenizer: "PreTrainedTokenizerFast", *, exact: bool = True):
        super().__init__()
        pieces = tokenizer.get_vocab().values() if exact else ()
        highest = max([tokenizer.pad_token_id or 0, *tokenizer("")["input_ids"], *pieces])
        if highest >= config.vocabulary_size or (exact and len(tokenizer) != config.vocabulary_size):
            numbers = f"{len(tokenizer)} pieces numbered up to {highest}"
            what = f"the tokeniser has {numbers}, and the model {config.vocabulary_size} from 0"
            raise ItmlabError(what, remedy="use the tokeniser that the weights were trained with")
        self.config, self.tokenizer, self.captions_cut = config, as_plain_text(tokenizer), 0

    @property
    def reads(self) -> Literal["pictures", "regions"]:
        """What of an image the model reads."""
        return self.config.reads

    @property
    def takes_pictures(self) -> bool:
        """Whether the model can be shown a picture that belongs to no data set."""
        return self.config.takes_pictures

    @property
    def encodes_apart(self) -> bool:
        """Whether the model has `encode_images` and `encode_captions`."""
        return self.config.encodes_apart

    @property
    def compares_parts(self) -> bool:
        """Whether `similarity` compares regions with words instead of one feature with one."""
        return self.config.compares_parts

    def forward(self, images: Any, tokens: dict[str, Tensor]) -> tuple[Encoded, Encoded]:
        """Encode both sides at once, which is what a distributed wrapper calls."""
        return self.encode_images(images), self.encode_captions(tokens)

    def similarity(
        self, images: Encoded | Tensor, captions: Encoded | Tensor, *, chunk: int = 1024
    ) -> Float[Tensor, "image caption"]:
        """Return the cosine of every image with every caption, from encoded sides or their pooled features."""
        pooled = [side.pooled if isinstance(side, Encoded) else side for side in (images, captions)]
        return cosine_similarity(*pooled, chunk=chunk)

    @classmethod
    def converted(cls, saved: "Model") -> "Model":
        """Return a saved model as one of this class, for a class that can begin with the weights of another."""
        if type(saved) is not cls:
            what = f"a saved {type(saved).__name__} cannot become a {cls.__name__}"
            raise ItmlabError(what, remedy="start from a model of the same kind")
        return saved

    @property
    def patch_grid(self) -> tuple[int, int]:
        """Rows and columns of patches; part i of an image's `local` is patch (i // columns, i % columns)."""
        return (self.config.image_size // self.config.patch_size,) * 2

    @property
    def image_tower(self) -> nn.Module | None:
        """The transformer through which gradients reach the patches of a picture, if there is one."""
        return None

    def caption_words(self, caption: str) -> list[tuple[str, list[int]]]:
        """The caption's words, each with the positions of its pieces on the part axis of `Encoded.local`."""
        return caption_words(self.tokenizer, caption, self.config.maximum_tokens)

    def prepare_captions(self, captions: Sequence[str]) -> dict[str, Tensor]:
        """`input_ids`, `attention_mask`, `word_mask` of captions; longer ones are cut, with a warning."""
        tokens, cut = encode_captions(self.tokenizer, captions, self.config.maximum_tokens)
        if cut:
            self.captions_cut += cut
            what = f"some are cut to {self.config.maximum_tokens} tokens, their last words unread"
            warnings.warn(f"captions: {what}", CutCaptions, stacklevel=2)  # Python shows it once
        return tokens

    def save(
        self, directory: str | Path, *, dtype: Literal["float32", "float16"] = "float32", force: bool = False
    ) -> None:
        """Write the model, each file atomically and the weights last; float16 halves the file and rounds them.

        Weights that are not finite in `dtype` are an ItmlabError before anything is written; so are files of these
        names that are no model of itmlab's, unless `force`.
        """
        from safetensors.torch import save

        if dtype not in ("float32", "float16"):
            raise ItmlabError(f"weights cannot be stored as {dtype!r}", remedy="use float32 or float16")
        directory, number_type = Path(directory), getattr(torch, dtype)
        weights = {
            name: (value.to(number_type) if value.is_floating_point() else value).detach().cpu().contiguous()
            for name, value in self.state_dict().items()
        }
        if spoilt := not_finite(weights):
            raise ItmlabError(f"weights not finite as {dtype}: {listed(spoilt)}", where=str(directory))
        refuse_foreign_files(directory, MODEL_FILES, '"maximum_tokens": ', force=force)
        write_json(directory / CONFIG_FILE, self.config.to_dict())
        save_tokenizer(self.tokenizer, directory)
        write_bytes(directory / WEIGHTS_FILE, save(weights, {KEY: digest_of(directory, weights)}))

    @classmethod
    def load(cls, directory: str | Path) -> Self:
        """Read what `save` wrote, in single precision and evaluation mode.

        Raises:
            ItmlabError: the configuration is not one of this class, or the weights do not fit it.
        """
        directory, config = Path(directory), saved_config(directory)
        if type(config) is not cls.config_class:
            what = f"not a {cls.config_class.__name__} but a {type(config).__name__}"
            raise ItmlabError(what, where=str(directory / CONFIG_FILE), remedy="use itmlab.models.load_model")
        tokenizer, path = load_tokenizer(directory), directory / WEIGHTS_FILE
        weights = read_weights(path)
        refuse_other_files(directory, path, weights)
        return build_filled(lambda: cls(config, tokenizer), weights, where=str(path))


def saved_config(directory: str | Path) -> ModelConfig:
    """The configuration of a saved model, of whatever class."""
    path = Path(directory) / CONFIG_FILE
    with named(path):
        return typed(ModelConfig, read_json(path, remedy="point at a directory that itmlab saved"), "model")


def load_model(directory: str | Path, encoder: str | None = None) -> Model:
    """Load a saved model of whatever class, in evaluation mode.

    Args:
        directory: what `Model.save` wrote.
        encoder: the import path of your own model class, if it is one.
    """
    return model_class(saved_config(directory), encoder).load(directory)


def model_class(config: ModelConfig, encoder: str | None = None) -> type[Model]:
    """Return the class of a configuration's model.

    Args:
        config: the configuration.
        encoder: the import path "module:Name" of your own class, in a module that is imported already.

    Raises:
        ItmlabError: the class is not known here, is not a `Model`, or has another class of configuration.
    """
    if encoder is None:
        module, _, name = getattr(config, "model", ":").partition(":")
        if not module:
            raise ItmlabError(
                f"{config.class_name()} names no model", remedy="give the recipe your class as its encoder"
            )
        return getattr(import_module(f"{__package__}.{module}"), name)
    found = find_class(encoder, Model)
    if found.config_class is not type(config):
        what = f"its config_class is {found.config_class.__name__}, the recipe's model {type(config).__name__}"
        raise ItmlabError(what, where=encoder, remedy="give the recipe a model of that class")
    return found


def build_filled(
    build: Callable[[], Model], weights: dict[str, Tensor], where: str, *, optional: str | None = None, seed: int = 0
) -> Any:
    """Build a model and fill it with `weights`, in evaluation mode; the caller's random numbers are left alone.

    Args:
        build: makes the model.
        weights: by name.
        where: the file of the weights, for errors.
        optional: a pattern of names that may be missing, whose weights then stay fresh.
        seed: of the fresh weights.

    Raises:
        ItmlabError: the weights do not fit, or are not finite.
    """

    def completed(model: Model) -> dict[str, Tensor]:
        fresh = model.state_dict() if optional is not None else {}
        return {name: value for name, value in fresh.items() if re.search(optional, name)} | weights

    with torch.random.fork_rng(devices=[]):
        try:
            with named(where), torch.device("meta"):  # shapes first: a damaged file must not make a huge model
                outline = build()
        except ItmlabError:
            raise
        except Exception as error:  # sizes that torch cannot count, settings that `transformers` refuses
            reason = str(error).strip().partition("\n")[0][:200]
            raise ItmlabError(f"no model can be made of its configuration: {reason}", where=where) from None
        refuse_misfit(outline, completed(outline), where)
        torch.manual_seed(seed)
        model = build()
    fill(model, completed(model), where)
    return model.eval()


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file, which holds nothing that could be run; a damaged one is an ItmlabError."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return load(ordinary(path, remedy="save the model again").read_bytes())
    except FileNotFoundError:
        raise ItmlabError("no such file", where=str(path), remedy="save the model again") from None
    except OSError as error:
        raise unusable(error, path) from None
    except (SafetensorError, KeyError, RuntimeError) as error:  # the last two: a type of number that torch lacks
        raise ItmlabError(f"not a safetensors file: {error}", where=str(path), remedy="save the model again") from None


def read_pickled(path: Path, *, known: Sequence[type] = ()) -> Any:
    """What `torch.save` wrote, of plain tensors, numbers, texts, lists and dictionaries (and `known` classes) alone.

    Nothing in it is run: any other object is an ItmlabError, and so is a tensor of more numbers than the file holds.
    """
    ordinary(path)
    try:
        if zipfile.is_zipfile(path):  # torch stores without compression: what unpacks to more is not its own
            with zipfile.ZipFile(path) as archive:
                if sum(member.file_size for member in archive.infolist()) > path.stat().st_size:
                    raise ValueError("compressed")
        with torch.serialization.safe_globals(list(known)), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            content = torch.load(path, map_location="cpu", weights_only=True)
        if _bytes_of(content) > 4 * path.stat().st_size:  # some twice, under two names
            raise ValueError("one number read as many")
        return content
    except Exception as error:  # damage has many types; their words, torch's above all, are no advice to follow
        reason = "it may hold code" if isinstance(error, pickle.UnpicklingError) else f"damaged: {type(error).__name__}"
        raise ItmlabError(
            f"not a file of plain tensors ({reason}), so it is not read",
            where=str(path),
            remedy="get it as .safetensors, or again from its source",
        ) from None


def _bytes_of(content: Any) -> int:
    """The bytes of all tensors within; a ValueError for one that is no plain array of real numbers."""
    if isinstance(content, Tensor):
        odd = content.is_quantized, content.is_complex(), content.is_meta, content.is_nested
        if content.layout != torch.strided or any(odd):
            raise ValueError("no plain array")
        return content.numel() * content.element_size()
    parts = content.values() if isinstance(content, dict) else content if isinstance(content, list | tuple) else ()
    return sum(map(_bytes_of, parts))


def fill(model: nn.Module, weights: dict[str, Tensor], where: str) -> None:
    """Put `weights` into `model`; a missing, unexpected, misshapen, mistyped or infinite one is one ItmlabError."""
    refuse_misfit(model, weights, where)
    if spoilt := not_finite(weights):
        raise ItmlabError(f"weights that are not finite: {listed(spoilt)}", where=where, remedy="save it again")
    model.load_state_dict(weights)


def refuse_misfit(model: nn.Module, weights: dict[str, Tensor], where: str) -> None:
    """An ItmlabError unless `weights` have the names, shapes and types of those of `model`."""
    expected = model.state_dict()
    faults = {
        "missing": [name for name in expected if name not in weights],
        "unexpected": [name for name in weights if name not in expected],
        "misshapen": [
            f"{name} {_form(weights[name])} for {_form(value)}"
            for name, value in expected.items()
            if name in weights and _form(weights[name]) != _form(value)
        ],
    }
    what = "; ".join(f"{kind}: {listed(names)}" for kind, names in faults.items() if names)
    if what:
        what = f"the weights do not fit config.json: {what}"
        raise ItmlabError(what, where=where, remedy="keep the files of one save together")


def _form(weight: Tensor) -> str:
    return f"{tuple(weight.shape)}" if weight.is_floating_point() else f"{tuple(weight.shape)} of whole numbers"


def not_finite(weights: dict[str, Tensor]) -> list[str]:
    """The names of those that hold a NaN or an infinity."""
    return [name for name, value in weights.items() if value.is_floating_point() and not value.isfinite().all()]


def listed(names: Iterable[str], most: int = 8) -> str:
    """Names for an error's one line.

    >>> listed("abcd", most=2)
    'a, b and 2 more'
    """
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


@dataclass(frozen=True)
class ImagePreparation:
    """Resize to a square of `size` px, then (value / 255 − mean) / std per channel; Pillow, NumPy and torch only.

    Without `shortest_edge` the whole picture is squeezed into the square, as ViT checkpoints expect and so that no
    object is lost. With it the shorter edge is brought to that length and the centre is cut out, as CLIP does.

    >>> from PIL import Image
    >>> ImagePreparation(2)([Image.new("RGB", (8, 4), "white")])[0, 0].tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    size: int
    shortest_edge: int | None = None
    interpolation: str = "bilinear"
    mean: tuple[float, float, float] = (0.5, 0.5, 0.5)
    std: tuple[float, float, float] = (0.5, 0.5, 0.5)

    @classmethod
    def of(cls, config: DualEncoderConfig) -> "ImagePreparation":
        """The preparation that a model configuration asks for."""
        return cls(config.image_size, config.shortest_edge, config.interpolation, config.mean, config.std)

    def __call__(self, pictures: "Sequence[Image]", changes: Changes = None) -> Float[Tensor, "n 3 size size"]:
        """One tensor for all pictures; any Pillow mode is read as RGB, and no picture at all is an ItmlabError."""
        if not len(pictures):
            raise ItmlabError("there is no picture to prepare", remedy="give at least one")
        ways = [_unchanged] * len(pictures) if changes is None else changes
        fitted = (change(one.convert("RGB"), self._fitted) for one, change in zip(pictures, ways, strict=True))
        stacked = np.stack([np.asarray(picture) for picture in fitted])
        values = torch.from_numpy(stacked).permute(0, 3, 1, 2).to(torch.float32)
        mean, std = (torch.tensor(three).view(1, 3, 1, 1) for three in (self.mean, self.std))
        return ((values / 255 - mean) / std).contiguous()

    def _fitted(self, picture: "Image") -> "Image":
        from PIL.Image import Resampling

        filter_ = Resampling[self.interpolation.upper()]
        if self.shortest_edge is None:
            return picture if picture.size == (self.size, self.size) else picture.resize((self.size,) * 2, filter_)
        # Of a picture longer than 8:1 only the middle: no crop reaches its ends, but resizing them may need gigabytes.
        reach = 8 * min(picture.size)
        if max(picture.size) > reach:
            picture = _centre(picture, min(picture.width, reach), min(picture.height, reach))
        short = min(picture.size)
        width, height = (int(self.shortest_edge * edge / short) for edge in picture.size)
        resized = picture if picture.size == (width, height) else picture.resize((width, height), filter_)
        return _centre(resized, self.size, self.size)


def _unchanged(picture: "Image", fitted: "Callable[[Image], Image]") -> "Image":
    return fitted(picture)


def _centre(picture: "Image", width: int, height: int) -> "Image":
    # Floor division also places a crop larger than the picture, whose surroundings Pillow fills with black.
    left, top = (picture.width - width) // 2, (picture.height - height) // 2
    return picture.crop((left, top, left + width, top + height))
