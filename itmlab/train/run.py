"""A trained run: its recipe, its record, its model, and what one asks of them."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor, nn

from ..data.captionset import CaptionSet
from ..data.pictures import read_image
from ..errors import ItmlabError, printable
from ..metrics.ranking import FewCandidates
from ..models import load_model
from ..storage import read_json, usable, write_bytes
from .checkpoint import CHECKPOINT_FILE, locked, read_json_lines, shipped_directory, shipped_names
from .directory import RUN_FILES
from .recipes import Recipe
from .scores import CUTOFFS, evaluate, similarity
from .search import Hits, Search

MANY_PAIRS = 100_000  # half a minute of a small cross-encoder


def keeps(rsum: float | None, best: float | None, epoch: int, warm_up_epochs: int) -> bool:
    """Whether training keeps the weights after an epoch (from 1) in place of those whose validation RSum is `best`.

    Better ones, or any where nothing is validated, or up to the first epoch after the warm-up: what the warm-up reached
    is not the recipe's doing.
    """
    return rsum is None or best is None or epoch <= warm_up_epochs + 1 or rsum > best


class Evaluated:
    """Runs and ensembles: whatever has a `similarity` on a data set."""

    def evaluate(
        self,
        data: CaptionSet,
        split: str | None = "test",
        folds: int = 1,
        relevance: Literal["cider", "spice"] | None = None,
        ks: Sequence[int] = CUTOFFS,
        truth: bool = False,
        protocol: str = "field",
    ) -> dict[str, Any]:
        """Recall at `ks` in percent as {"i2t": {k: ...}, "t2i": {k: ...}, "rsum": ...} on a split (None: all).

        Beside it "rank", the median and the mean rank of the best positive, as `metrics.retrieval` gives it.

        Args:
            data: the data set.
            split: the split to rank, or None for all of it.
            folds: number of consecutive blocks of images, each ranked by itself; their recalls are averaged.
            relevance: adds "semantic", the table of `metrics.semantic_retrieval`: R, SR, NCS and their sums.
            ks: cut-offs of the recalls; a split must have as many images and captions.
            truth: adds "truth", the table of `metrics.truth_retrieval`: mAP@R and R-Precision against everything that
                is true, and recall beside an oracle's; for data with a world.
            protocol: "field", or "corrected" where captions of other images that are the same word for word count.
        """
        part = data if split is None else data.split(split)
        with cutoffs_told(in_python):
            return evaluate(self, part, folds=folds, ks=ks, relevance=relevance, truth=truth, protocol=protocol)


class Run(Evaluated):
    """A run directory opened for reading; a directory without recipe.json is an ItmlabError. Nothing in it is run."""

    def __init__(self, directory: str | Path):
        self.directory, self._named = Path(directory).absolute(), directory  # os.chdir does not move it
        if not (self.directory / "recipe.json").is_file():
            what, remedy = "not a run directory, it has no recipe.json", "python -m itmlab train makes one"
            raise ItmlabError(what, where=str(directory), remedy=remedy)
        self._searches: dict[str, Search] = {}

    def __repr__(self) -> str:
        return printable(f"Run({self.recipe.name}, {self.recipe.size}, {self._named})")

    @cached_property
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
        return read_json_lines(self.directory / "history.jsonl")

    @property
    def epochs(self) -> list[dict[str, Any]]:
        """The records of epochs: mean loss, and recall on the validation split as `evaluate` gives it."""
        return [record for record in self.history if record.get("kind") == "epoch"]

    @property
    def kept_epoch(self) -> dict[str, Any] | None:
        """The record of the epoch whose weights are kept; None before there is one, or where nothing is validated."""
        kept: dict[str, Any] | None = None
        for record in (record for record in self.epochs if "rsum" in record):
            if keeps(record["rsum"], kept and kept["rsum"], record["epoch"], self.recipe.data.warm_up_epochs):
                kept = record
        return kept

    @property
    def finished(self) -> bool:
        """Whether it was trained to the end of its recipe."""
        if (self.directory / CHECKPOINT_FILE).exists() or not self.epochs:
            return False
        settings, last = self.recipe.data, self.epochs[-1]
        return last["step"] >= settings.steps if settings.steps else last["epoch"] >= settings.epochs

    @cached_property
    def model(self) -> nn.Module:
        """The model with the weights kept, in evaluation mode, on the GPU if there is one."""
        if not (self.directory / "model.safetensors").is_file():
            raise ItmlabError("no weights yet", where=str(self.directory), remedy="train it for an epoch, or max_steps")
        model = load_model(self.directory, self.recipe.encoder)
        return model.to("cuda" if torch.cuda.is_available() else "cpu").eval()

    def require_regions(self, data: CaptionSet) -> None:
        """An ItmlabError that says how to load regions, where the model looks at those and `data` have none."""
        if data.regions is not None or self.model.takes_pictures:
            return
        asked = self.recipe.data
        scenes = f'load("scenes", regions="{asked.regions or "detector"}")'
        remedy = f"{scenes} has them" if data.name == "scenes" else f'load("regions", root) has them, or {scenes}'
        raise ItmlabError("this model looks at regions and the data have none", where=data.name, remedy=remedy)

    def similarity(self, data: CaptionSet) -> Float[Tensor, "image caption"]:
        """The similarity of every image and caption; a model that reads every pair shows its progress."""
        self.require_regions(data)
        return similarity(self.model, data, progress=len(data) * len(data.captions) > MANY_PAIRS)

    def search(
        self,
        query: str | Image.Image | Path,
        k: int = 5,
        *,
        data: CaptionSet,
        of: Literal["images", "captions"] | None = None,
    ) -> Hits:
        """The `k` best images of `data` for a sentence, or captions for a picture (a Path or a PIL image).

        `of` asks for the other kind: captions like a caption, pictures like a picture. A `str` is always a sentence.
        """
        if isinstance(query, str):
            if not query.strip():
                raise ItmlabError("the sentence to search for is empty")
        elif isinstance(query, Path):
            query = read_image(query)
        of = of or ("images" if isinstance(query, str) else "captions")
        if of not in ("images", "captions"):
            raise ItmlabError(f"cannot search for {of!r}", remedy='of="images" or of="captions"')
        if of == "images" and isinstance(query, str):  # the error for a picture is another
            self.require_regions(data)
        if data.fingerprint not in self._searches:
            self._searches[data.fingerprint] = Search(self.model, data)
        scores, indices = self._searches[data.fingerprint].search(query, k, of)
        if of == "captions":
            images = data.image_of_caption[indices].tolist()
            ids, captions = [data.caption_ids[index] for index in indices], [data.captions[index] for index in indices]
        else:
            images, ids = indices, [data.image_ids[index] for index in indices]
            first = [data.captions_of_image[index][:1].tolist() for index in indices]
            captions = [data.captions[own[0]] if own else "" for own in first]
        return Hits(query, of, ids, scores, captions, images, data)

    def export(self, directory: str | Path, dtype: Literal["float16", "float32"] = "float16") -> "Run":
        """Write what using the run needs (recipe, data's description, history, weights), not what resuming needs.

        A directory that holds a run or a saved model is an ItmlabError.
        """
        directory = Path(directory)
        with usable(), locked(directory):
            existing = [name for name in (*RUN_FILES, CHECKPOINT_FILE) if (directory / name).exists()]
            if existing:
                remedy = "name another directory, or delete this one"
                raise ItmlabError(f"contains {existing[0]} already", where=str(directory), remedy=remedy)
            for name in ("recipe.json", "data.json", "history.jsonl"):
                if (self.directory / name).is_file():
                    write_bytes(directory / name, (self.directory / name).read_bytes())
            self.model.save(directory, dtype=dtype)
        return Run(directory)


def pretrained(name: str) -> Run:
    """A run that ships with the package; an unknown name is an ItmlabError that lists those there."""
    there = shipped_names()
    if name not in there:
        listed = f"there are {', '.join(there)}" if there else "this installation has none: train one"
        if "." in name or "/" in name or os.sep in name:
            shipped = f"name the folder of a run, or one that ships: {', '.join(there)}"
            raise ItmlabError(f"there is no folder {name}", remedy=shipped if there else listed)
        raise ItmlabError(f"no pretrained run {name!r}", remedy=listed)
    return Run(shipped_directory(name))


def in_python(ks: Sequence[int]) -> str:
    """How a caller of `evaluate` asks for these."""
    return f"ks={tuple(ks)}, or rank more candidates"


@contextmanager
def cutoffs_told(words: Callable[[Sequence[int]], str]) -> Iterator[None]:
    """Where a k is above the candidates, say in the caller's `words` which `ks` there may be instead."""
    try:
        yield
    except FewCandidates as error:
        if not (most := error.candidates):
            raise
        ks = sorted({most, *(k for k in CUTOFFS if k < most)})
        remedy = f"choose k from 1 to {most}: {words(ks)}"
        raise FewCandidates(error.k, most, where=error.where, remedy=remedy) from None


class Ensemble(Evaluated):
    """Runs, of whatever recipes, that vote with their similarities (FNE 2023, Sec. 4.1; METHODS 1.5)."""

    def __init__(self, runs: Sequence[Run]):
        self.runs = list(runs)
        if not self.runs:
            raise ItmlabError("an ensemble needs at least one run")

    @property
    def recipe(self) -> Recipe:
        """The first run's, by whose seed the ensemble is paired with others."""
        return self.runs[0].recipe

    def similarity(self, data: CaptionSet) -> Float[Tensor, "image caption"]:
        """The mean of the runs' similarities of every image and caption."""
        total = torch.zeros(len(data), len(data.captions))
        for run in self.runs:
            total += run.similarity(data)
        return total / len(self.runs)


def ensemble(runs: Sequence[Run]) -> Ensemble:
    """The ensemble of `runs`; the papers' tables take two seeds of one recipe."""
    return Ensemble(runs)
