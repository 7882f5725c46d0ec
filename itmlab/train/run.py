"""A trained run: its recipe, its record, its model, and what one asks of them; several runs as an ensemble.

`Hits` are what a search finds, as text and as HTML.
"""

import base64
import html
import io
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor, nn

from ..data.captionset import CaptionSet
from ..data.faults import one_line
from ..data.pictures import read_image
from ..errors import ItmlabError, printable
from ..metrics import chance_rsum
from ..models import load_model
from ..models.pairs import looked_at
from ..session import usual_defaults
from ..storage import inside, read_json, sync_directory, usable, write_bytes
from ..text.tokens import unknown_words
from .directory import CHECKPOINT_FILE, HISTORY_FILE, read_history, start_directory
from .recipes import Recipe
from .scores import CUTOFFS, Side, compared, evaluate, largest, side_of, similarity


def keeps(rsum: float | None, best: float | None, epoch: int, warm_up_epochs: int) -> bool:
    """Whether training keeps the weights after an epoch (from 1) in place of those whose validation RSum is `best`.

    Better ones, or any where nothing is validated, or up to the first epoch after the warm-up: what the warm-up reached
    is not the recipe's doing.
    """
    return rsum is None or best is None or epoch <= warm_up_epochs + 1 or rsum > best


class Evaluated:
    """Runs and ensembles: whatever has a `similarity` on a data set."""

    members: "list[Run]"

    @usual_defaults()
    def evaluate(
        self, data: CaptionSet, split: str | None = "test", folds: int = 1, ks: Sequence[int] = CUTOFFS, **options: Any
    ) -> dict[str, Any]:
        """Recall at `ks` in percent as {"i2t": {k: ...}, "t2i": {k: ...}, "rsum": ...} on a split (None: all).

        Args:
            data: the data set.
            split: the split to rank, or None for all of it.
            folds: number of consecutive blocks of images, each ranked by itself; their recalls are averaged.
            options: `relevance`, `truth` and `protocol` of `itmlab.train.evaluate`.
        """
        part = data if split is None else data.split(split)
        scores = evaluate(self, part, folds=folds, ks=ks, **options)
        if folds == 1 and scores["rsum"] <= chance_rsum(part.positives, ks):
            warnings.warn(f"RSum {scores['rsum']:.1f} is what a random order reaches", stacklevel=2)
        return scores


class Run(Evaluated):
    """A run directory opened for reading. Nothing in it is run.

    Args:
        directory: the run directory.

    Raises:
        ItmlabError: the directory has no recipe.json.
    """

    def __init__(self, directory: str | Path):
        self.directory, self._named = Path(directory).absolute(), directory  # os.chdir does not move it
        if not (self.directory / "recipe.json").is_file():
            message, remedy = "not a run directory, it has no recipe.json", "python -m itmlab train makes one"
            raise ItmlabError(message, where=str(directory), remedy=remedy)
        self._searched: Any = None, None  # the side and the data that were searched last, and as the model compares it

    def __repr__(self) -> str:
        return printable(f"Run({self.recipe.name}, {self.recipe.size}, {self._named})")

    @property
    def members(self) -> "list[Run]":
        """The run itself, as an ensemble of one."""
        return [self]

    @cached_property
    @usual_defaults()
    def recipe(self) -> Recipe:
        """The recipe that made it."""
        return Recipe.load(self.directory / "recipe.json")

    @property
    def drawn(self) -> dict[str, str]:
        """The options of `scenes` by which its data were drawn, where these were not the default."""
        path = self.directory / "data.json"
        about = read_json(path) if path.is_file() else {}
        return {name: about[name] for name in ("regions",) if name in about}

    @property
    def history(self) -> list[dict[str, Any]]:
        """All records: of every tenth step (`kind` "step"), of every epoch ("epoch"), and warnings ("warning")."""
        return read_history(self.directory)

    @property
    def epochs(self) -> list[dict[str, Any]]:
        """The records of epochs: mean loss, and recall on the validation split as `evaluate` gives it."""
        return [record for record in self.history if record["kind"] == "epoch"]

    @property
    def kept_epoch(self) -> dict[str, Any] | None:
        """The record of the epoch whose weights are kept; None before there is one, or where nothing is validated."""
        best: dict[str, Any] | None = None
        for record in (record for record in self.epochs if "rsum" in record):
            if keeps(record["rsum"], best and best["rsum"], record["epoch"], self.recipe.data.warm_up_epochs):
                best = record
        return best

    @property
    def finished(self) -> bool:
        """Whether it was trained to the end of its recipe."""
        if (self.directory / CHECKPOINT_FILE).exists() or not self.epochs:
            return False
        settings, last = self.recipe.data, self.epochs[-1]
        return last["step"] >= settings.steps if settings.steps else last["epoch"] >= settings.epochs

    @cached_property
    @usual_defaults()
    def model(self) -> nn.Module:
        """The model with the weights kept, in evaluation mode, on the GPU if there is one."""
        if not (self.directory / "model.safetensors").is_file():
            raise ItmlabError("no weights yet", where=str(self.directory), remedy="train it for an epoch, or max_steps")
        model = load_model(self.directory, self.recipe.encoder)
        return model.to("cuda" if torch.cuda.is_available() else "cpu").eval()

    def similarity(self, data: CaptionSet) -> Float[Tensor, "image caption"]:
        """The similarity of every image and caption."""
        return similarity(self.model, data)

    @usual_defaults()
    def search(self, query: str | Image.Image | Path, k: int = 5, *, data: CaptionSet) -> "Hits":
        """Find the `k` best images of `data` for a sentence, or captions for a picture; ties in the order of the data.

        The features of the data that were searched last are kept.

        Args:
            query: a sentence, a PIL image, or the Path of a picture. A `str` is always a sentence.
            k: how many.
            data: what is searched.

        Raises:
            ItmlabError: an empty sentence, or a picture for a model that reads a detector's regions.
        """
        model, query = self.model, read_image(query) if isinstance(query, Path) else query
        is_sentence = isinstance(query, str)
        of, asks = ("images", "captions") if is_sentence else ("captions", "images")
        if is_sentence and not query.strip():
            raise ItmlabError("the sentence to search for is empty")
        if not is_sentence and not model.takes_pictures:
            raise ItmlabError("this model reads regions, and a picture has none", remedy="search by a sentence")
        if is_sentence and model.tokenizer is not None and (unknown := unknown_words(model.tokenizer, query)):
            words = one_line(", ".join(map(repr, unknown)), 200)
            warnings.warn(f"the model does not know these words of the query: {words}", stacklevel=3)
        if self._searched[0] != (data.fingerprint, of):
            items = looked_at(model, data) if is_sentence else data.captions
            self._searched = (data.fingerprint, of), side_of(model, items, of)
        items, asked = self._searched[1], side_of(model, [query], asks)
        scores = compared(model, items, asked).T if is_sentence else compared(model, asked, items)
        best, places = largest(scores, k)
        return Hits(query, of, best[0].tolist(), places[0].tolist(), data)

    def release(self) -> None:
        """Drop the model and the features from memory; they are read again when they are needed."""
        vars(self).pop("model", None)
        self._searched = None, None

    @usual_defaults()
    def export(self, directory: str | Path, dtype: Literal["float16", "float32"] = "float16") -> "Run":
        """Write what using the run needs (recipe, data's description, history, weights), not what resuming needs.

        The directory appears when all of it is written.

        Args:
            directory: a new or empty directory.
            dtype: of the weights.

        Raises:
            ItmlabError: the directory contains something, or a file of the run is a link that leaves it.
        """
        directory = Path(directory)
        with usable():
            if os.path.lexists(directory) and not (directory.is_dir() and not any(directory.iterdir())):
                remedy = "name another directory, or delete this one"
                raise ItmlabError("exists already and is not an empty directory", where=str(directory), remedy=remedy)
            directory.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(prefix=f".{directory.name}.", dir=directory.parent) as temporary:
                (written := Path(temporary, "run")).mkdir()
                for name in ("recipe.json", "data.json", HISTORY_FILE):
                    source = inside(self.directory, name)
                    if source.is_file():
                        write_bytes(written / name, source.read_bytes())
                self.model.save(written, dtype=dtype)
                os.replace(written, directory)
            sync_directory(directory.parent)
        return Run(directory)


def pretrained(name: str) -> Run:
    """A run that ships with the package; an unknown name is an ItmlabError that lists those there."""
    return Run(start_directory(name))


class Ensemble(Evaluated):
    """Runs, of whatever recipes, that vote with their similarities (FNE 2023, Sec. 4.1; METHODS 1.5).

    The papers' tables take two seeds of one recipe.

    Args:
        runs: at least one.
    """

    def __init__(self, runs: Sequence[Run]):
        self.members = list(runs)
        if not self.members:
            raise ItmlabError("an ensemble needs at least one run")
        # the first run's: the seed by which the ensemble is paired with others, and the name in messages
        self.recipe, self.directory = self.members[0].recipe, self.members[0].directory

    @usual_defaults()
    def similarity(self, data: CaptionSet) -> Float[Tensor, "image caption"]:
        """The mean of the runs' similarities of every image and caption.

        Seeds of one recipe score on one scale, and are averaged as the papers do. Otherwise each run's scores are first
        standardised to mean 0 and deviation 1, so that logits do not outvote cosines.
        """
        on_one_scale = all(run.recipe.replace(seed=0) == self.recipe.replace(seed=0) for run in self.members)
        total = torch.zeros(len(data), len(data.captions))
        for run in self.members:
            scores = run.similarity(data)
            if not on_one_scale:
                deviation, mean = torch.std_mean(scores, correction=0)
                scores = (scores - mean) / deviation.clamp(min=torch.finfo(scores.dtype).tiny)
            total += scores
        return total / len(self.members)


ensemble = Ensemble  # `itmlab.ensemble([run, other])`


# What a search finds.

THUMBNAIL = 128  # pixels of the longer edge


@dataclass(frozen=True)
class Hits:
    """The best matches of one query, best first, readable in a terminal and in a notebook.

    Attributes:
        query: the sentence or picture.
        of: what was searched.
        scores: the similarities.
        places: the indices of the images or captions in `data`.
        data: the images and captions that were searched.
    """

    query: str | Image.Image
    of: Side
    scores: list[float]
    places: list[int]
    data: CaptionSet = field(repr=False)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def ids(self) -> list[str]:
        """The ids of the images or captions."""
        ids = self.data.image_ids if self.of == "images" else self.data.caption_ids
        return [ids[place] for place in self.places]

    @property
    def image_indices(self) -> list[int]:
        """The indices of the images, or of those that the captions were written for."""
        return self.places if self.of == "images" else self.data.image_of_caption[self.places].tolist()

    @property
    def captions(self) -> list[str]:
        """The captions, or the first caption of each image ("" where it has none)."""
        if self.of == "captions":
            return [self.data.captions[place] for place in self.places]
        return [next(iter(captions), "") for captions in self.data.captions_of(self.places)]

    @property
    def images(self) -> list[Image.Image]:
        """The pictures, decoded when they are needed."""
        return [self.data.images[index] for index in self.image_indices]

    def __repr__(self) -> str:
        rows = enumerate(zip(self.scores, self.ids, self.captions, strict=True), 1)
        lines = [f"{n:>3}. {score:+.3f}  {one_line(id_)}  {one_line(caption)}" for n, (score, id_, caption) in rows]
        query = f'"{one_line(self.query)}"' if isinstance(self.query, str) else "the picture"
        return "\n".join([f"{self.of} nearest to {query}:", *lines])

    def _repr_html_(self) -> str:
        # captions stand alone, a line each: a picture with each would read as if it had been found
        pictures = map(thumbnail, self.images) if self.of == "images" else [""] * len(self)
        width = f"{THUMBNAIL + 16}px" if self.of == "images" else "100%"
        figures = [
            f'<figure style="margin:0;width:{width}">{picture}<figcaption style="font-size:12px"><b>{score:+.3f}</b> '
            f'{html.escape(caption)}<br><span style="opacity:.6">{html.escape(id_)}</span></figcaption></figure>'
            for picture, score, caption, id_ in zip(pictures, self.scores, self.captions, self.ids, strict=True)
        ]
        query = html.escape(self.query) if isinstance(self.query, str) else thumbnail(self.query)
        shelf = '<div style="display:flex;flex-wrap:wrap;gap:12px">' + "".join(figures) + "</div>"
        return f'<p style="margin:4px 0">{html.escape(self.of)} nearest to <i>{query}</i></p>{shelf}'


def thumbnail(picture: Image.Image) -> str:
    """A small copy of a picture as an HTML element that needs no other file."""
    small = picture.convert("RGB")
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    buffer = io.BytesIO()
    small.save(buffer, format="JPEG", quality=85)
    content = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<img alt="" width="{small.width}" height="{small.height}" src="data:image/jpeg;base64,{content}">'
