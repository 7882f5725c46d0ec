"""The base class of models, their files, and the preparation of pictures.

A saved model is a directory of config.json, tokenizer.json and model.safetensors, which is read without running code.
"""

import hashlib
import re
import warnings
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
from ..fields import to_plain, typed
from ..session import usual_defaults
from ..storage import ordinary, read_json, refuse_foreign_files, usable, write_bytes, write_json
from ..text import tokens as text_tokens
from ..text.tokens import NAMES_FILE, VOCABULARY_FILE
from .config import ModelConfig
from .encoded import Encoded, cosine_similarity

if TYPE_CHECKING:
    from PIL.Image import Image
    from transformers import PreTrainedTokenizerFast

# One per picture, given the picture and the function that resizes it; made by `data.batches.Augmentation` in training.
Changes = Sequence[Callable[..., "Image"]] | None
CONFIG_FILE, WEIGHTS_FILE = "config.json", "model.safetensors"
MODEL_FILES = (CONFIG_FILE, VOCABULARY_FILE, NAMES_FILE, WEIGHTS_FILE)
RECIPE_FILE = "recipe.json"  # beside the model of a run
DIGEST = "digest"  # in the metadata of the weights' file


class CutCaptions(UserWarning):
    """Captions longer than the model's maximum lost their last words."""


def _of_config(name: str, doc: str) -> property:
    """A property of the model that its configuration describes."""
    return property(lambda self: getattr(self.config, name), doc=doc)


class Model(nn.Module):
    """Base class of models: a module with a `config`, a `tokenizer` and one way to score pairs.

    A model of your own sets `config_class` and defines `prepare_images`, `encode_images` and `encode_captions`. Pairs
    are scored by the cosine of their pooled features unless the model defines its own `similarity`.

    Args:
        config: sizes and settings, a `ModelConfig`.
        tokenizer: the tokeniser of captions.
    """

    config_class: ClassVar[type[ModelConfig]]
    image_tower: nn.Module | None = None  # the transformer through which gradients reach the patches of a picture

    def __init__(self, config: Any, tokenizer: "PreTrainedTokenizerFast"):
        super().__init__()
        highest = max(tokenizer.get_vocab().values())
        if highest >= config.vocabulary_size:  # published checkpoints may have more rows than pieces
            message = (
                f"the tokeniser has pieces numbered up to {highest}, and the model {config.vocabulary_size} from 0"
            )
            raise ItmlabError(message, remedy="use the tokeniser that the weights were trained with")
        self.config, self.tokenizer = config, text_tokens.as_plain_text(tokenizer)

    reads = _of_config("reads", "What the model reads of an image: pictures or regions.")
    takes_pictures = _of_config("takes_pictures", "Whether the model can read a picture that belongs to no data set.")
    encodes_apart = _of_config("encodes_apart", "Whether the model has `encode_images` and `encode_captions`.")
    compares_parts = _of_config("compares_parts", "Whether `similarity` compares regions with words.")

    def forward(self, images: Any, tokens: dict[str, Tensor]) -> tuple[Encoded, Encoded]:
        """Encode both sides at once, as a distributed wrapper does."""
        return self.encode_images(images), self.encode_captions(tokens)

    def similarity(self, images: Encoded | Tensor, captions: Encoded | Tensor) -> Float[Tensor, "image caption"]:
        """Return the cosine of every image with every caption, which are encoded, or their pooled features."""
        return cosine_similarity(*(side.pooled if isinstance(side, Encoded) else side for side in (images, captions)))

    @classmethod
    def converted(cls, saved: "Model") -> "Model":
        """Return a saved model as one of this class; some classes can begin with the weights of another."""
        if type(saved) is not cls:
            message = f"a saved {type(saved).__name__} cannot become a {cls.__name__}"
            raise ItmlabError(message, remedy="start from a model of the same kind")
        return saved

    @property
    def patch_grid(self) -> tuple[int, int]:
        """Rows and columns of patches; part i of an image's `local` is patch (i // columns, i % columns)."""
        return (self.config.image_size // self.config.patch_size,) * 2

    def as_read(self, caption: str) -> str:
        """Return what the tokeniser is given of a caption: all of it, or cleaned where there are `maximum_words`."""
        words = self.config.maximum_words
        return caption if words is None else text_tokens.cleaned(caption, words)

    def caption_words(self, caption: str) -> list[tuple[str, list[int]]]:
        """Return the caption's words, each with the positions of its pieces on the part axis of `Encoded.local`."""
        return text_tokens.caption_words(self.tokenizer, self.as_read(caption), self.config.maximum_tokens)

    @usual_defaults()
    def prepare_captions(self, captions: Sequence[str]) -> dict[str, Tensor]:
        """Return `input_ids`, `attention_mask` and `word_mask` of captions; long captions are cut, with a warning."""
        texts = [self.as_read(caption) for caption in captions]
        tokens, cut = text_tokens.encode_captions(self.tokenizer, texts, self.config.maximum_tokens)
        if cut:
            message = f"captions: some are cut to {self.config.maximum_tokens} tokens, their last words unread"
            warnings.warn(message, CutCaptions, stacklevel=3)  # Python shows it once
        return tokens

    def save(self, directory: str | Path, *, dtype: Literal["float32", "float16"] = "float32") -> None:
        """Write the model; each file is written atomically, the weights last.

        Args:
            directory: where to write.
            dtype: float16 halves the file and rounds the weights.

        Raises:
            ItmlabError: weights that are not finite in `dtype`, or files that itmlab did not write.
        """
        from safetensors.torch import save

        if dtype not in ("float32", "float16"):
            raise ItmlabError(f"weights cannot be stored as {dtype!r}", remedy="use float32 or float16")
        directory, number_type = Path(directory), getattr(torch, dtype)
        weights = {
            name: (value.to(number_type) if value.is_floating_point() else value).detach().cpu().contiguous()
            for name, value in self.state_dict().items()
        }
        if names := not_finite(weights):
            raise ItmlabError(f"weights not finite as {dtype}: {listed(names)}", where=str(directory))
        refuse_foreign_files(directory, MODEL_FILES, '"maximum_tokens": ')
        write_json(directory / CONFIG_FILE, to_plain(self.config))
        text_tokens.save_tokenizer(self.tokenizer, directory)
        write_bytes(directory / WEIGHTS_FILE, save(weights, {DIGEST: digest_of(directory, weights)}))

    @classmethod
    def load(cls, directory: str | Path) -> Self:
        """Read a saved model, in single precision and evaluation mode.

        Raises:
            ItmlabError: the configuration is not one of this class, or the weights do not fit it.
        """
        directory, config = Path(directory), saved_config(directory, cls.config_class)
        tokenizer, path = text_tokens.load_tokenizer(directory), directory / WEIGHTS_FILE
        weights = read_weights(path)
        refuse_other_files(directory, path, weights)
        return build_filled(lambda: cls(config, tokenizer), weights, where=str(path))


# The digest that ties together the files of a run or of a saved model. `Model.save` writes it into the weights' file,
# last and atomically. Files of two runs, or a file that was changed afterwards, are therefore recognised.


def digest_of(directory: Path, weights: dict[str, Tensor]) -> str:
    """Return the SHA-256 of recipe (if there is one), configuration, tokeniser and weights.

    Args:
        directory: where the files are.
        weights: the weights by name, in the type of number in which they are stored.
    """
    digest = hashlib.sha256()
    for path in (directory / name for name in (RECIPE_FILE, *MODEL_FILES[:-1])):
        content = path.read_bytes() if path.is_file() else b""
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    for name, value in sorted(weights.items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        digest.update(value.contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()


def refuse_other_files(directory: Path, path: Path, weights: dict[str, Tensor]) -> None:
    """Check that the files beside the weights are those that they were saved with.

    Args:
        directory: where the files are.
        path: the file of the weights.
        weights: what was read from it.

    Raises:
        ItmlabError: recipe, configuration, tokeniser or weights are another run's, or were changed afterwards.
    """
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        saved = (file.metadata() or {}).get(DIGEST)
    if saved is None and not (directory / RECIPE_FILE).exists():
        return  # not a run, and not saved by itmlab
    if saved != digest_of(directory, weights):
        message = "recipe.json, config.json, the tokeniser and the weights do not belong together"
        raise ItmlabError(message, where=str(path), remedy="restore the files of one run, or train again")


def saved_config(directory: str | Path, kind: type[ModelConfig] = ModelConfig) -> ModelConfig:
    """Read the configuration of a saved model, which must be of a class derived from `kind`."""
    path = Path(directory) / CONFIG_FILE
    with named(path):
        return typed(kind, read_json(path, remedy="point at a directory that itmlab saved"), "model")


def load_model(directory: str | Path, encoder: str | None = None) -> Model:
    """Load a saved model of any class, in evaluation mode.

    Args:
        directory: the directory that `Model.save` wrote.
        encoder: the import path of the class, if it is your own.
    """
    return model_class(saved_config(directory), encoder).load(directory)


def model_class(config: ModelConfig, encoder: str | None = None) -> type[Model]:
    """Return the class of a configuration's model.

    Args:
        config: the configuration.
        encoder: the import path "module:Name" of your own class, in a module that is imported already.

    Raises:
        ItmlabError: the class is unknown, is not a `Model`, or has another class of configuration.
    """
    if encoder is None:
        module, _, name = getattr(config, "model", ":").partition(":")
        if not module:
            message = f"{config.class_name()} names no model"
            raise ItmlabError(message, remedy="give the recipe your class as its encoder")
        return getattr(import_module(f"{__package__}.{module}"), name)
    custom = find_class(encoder, Model)
    if custom.config_class is not type(config):
        message = f"its config_class is {custom.config_class.__name__}, the recipe's model {type(config).__name__}"
        raise ItmlabError(message, where=encoder, remedy="give the recipe a model of that class")
    return custom


@usual_defaults()
def build_filled(build: Callable[[], Model], weights: dict[str, Tensor], where: str, optional: str = "^$") -> Any:
    """Build a model and fill it with `weights`, in evaluation mode; the caller's random state is left unchanged.

    Args:
        build: makes the model.
        weights: by name.
        where: the file of the weights, for errors.
        optional: a pattern of the names that may be missing; these weights stay fresh, always the same.

    Raises:
        ItmlabError: the weights do not fit, or are not finite.
    """
    fill(outlined(build, where), weights, where, optional)  # shapes first: a damaged file must not make a huge model
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = build()
    fill(model, weights, where, optional)
    return model.eval()


def outlined(build: Callable[[], Model], where: str = "model configuration") -> Model:
    """Build a model without memory for its weights, on torch's meta device.

    Raises:
        ItmlabError: no model can be made of the configuration, or its weights do not fit into this machine's memory.
    """
    import psutil

    try:
        with named(where), torch.device("meta"):
            outline = build()
    except ItmlabError:
        raise
    except Exception as error:  # sizes that torch cannot count, settings that `transformers` refuses
        reason = str(error).strip().partition("\n")[0][:200]
        raise ItmlabError(f"no model can be made of its configuration: {reason}", where=where) from None
    needed = 4 * sum(value.numel() for value in outline.state_dict().values())
    if needed > (memory := psutil.virtual_memory().total):
        message = f"weights of {needed / 2**30:,.0f} GiB, and this machine has {memory / 2**30:,.0f} GiB of memory"
        raise ItmlabError(message, where=where, remedy="choose smaller sizes of the model")
    return outline


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a safetensors file, which cannot contain code; a damaged file is an ItmlabError."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        with usable(path):
            return load(ordinary(path, remedy="save the model again").read_bytes())
    except (SafetensorError, KeyError, RuntimeError) as error:  # the last two: a type of number that torch lacks
        raise ItmlabError(f"not a safetensors file: {error}", where=str(path), remedy="save the model again") from None


def fill(model: nn.Module, weights: dict[str, Tensor], where: str, optional: str = "^$") -> None:
    """Put weights into a model; one on torch's meta device only checks them.

    Args:
        model: the model to fill.
        weights: by name.
        where: their file, for errors.
        optional: a pattern of the names that may be missing.

    Raises:
        ItmlabError: missing, unexpected, misshapen or infinite weights.
    """
    if names := not_finite(weights):
        raise ItmlabError(f"weights that are not finite: {listed(names)}", where=where, remedy="save it again")
    try:
        device = "meta" if any(weight.is_meta for weight in model.parameters()) else "cpu"
        placed = {name: weight.to(device) for name, weight in weights.items()}
        lacking, unexpected = model.load_state_dict(placed, strict=False)
        missing = [name for name in lacking if not re.search(optional, name)]
        faults = f"missing: {listed(missing)}; unexpected: {listed(unexpected)}" if missing or unexpected else ""
    except RuntimeError as error:  # misshapen ones, each on a line of its own
        faults = " ".join(str(error).split())[:500]
    if faults:
        message = f"the weights do not fit the model's configuration: {faults}"
        raise ItmlabError(message, where=where, remedy="keep the files of one save together, or give another one")


def not_finite(weights: dict[str, Tensor]) -> list[str]:
    """Return the names of weights with a NaN or an infinity."""
    return [name for name, value in weights.items() if value.is_floating_point() and not value.isfinite().all()]


def listed(names: Iterable[str], most: int = 8) -> str:
    """Join names for an error's one line.

    >>> listed("abcd", most=2)
    'a, b and 2 more'
    """
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


@dataclass(frozen=True)
class ImagePreparation:
    """Squeeze into a square of `size` px, as ViT checkpoints expect, then (value / 255 - mean) / std per channel.

    Args:
        size: edge of the square in pixels.
        interpolation: Pillow's filter.
        mean: per channel.
        std: per channel.

    >>> from PIL import Image
    >>> ImagePreparation(2)([Image.new("RGB", (8, 4), "white")])[0, 0].tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    size: int
    interpolation: str = "bilinear"
    mean: tuple[float, float, float] = (0.5, 0.5, 0.5)
    std: tuple[float, float, float] = (0.5, 0.5, 0.5)

    @usual_defaults()
    def __call__(self, pictures: "Sequence[Image]", changes: Changes = None) -> Float[Tensor, "n 3 size size"]:
        """Prepare pictures of any Pillow mode, which are read as RGB.

        Args:
            pictures: at least one.
            changes: one change per picture, for augmentation.
        """
        coloured = [picture.convert("RGB") for picture in pictures]
        changes = changes or [lambda picture, fitted: fitted(picture)] * len(coloured)
        fitted = [change(picture, self._fitted) for picture, change in zip(coloured, changes, strict=True)]
        stacked = np.stack([np.asarray(picture) for picture in fitted])
        values = torch.from_numpy(stacked).permute(0, 3, 1, 2).to(torch.float32)
        mean, std = torch.tensor(self.mean).view(1, 3, 1, 1), torch.tensor(self.std).view(1, 3, 1, 1)
        return ((values / 255 - mean) / std).contiguous()

    def _fitted(self, picture: "Image") -> "Image":
        from PIL.Image import Resampling

        square = self.size, self.size
        return picture if picture.size == square else picture.resize(square, Resampling[self.interpolation.upper()])
