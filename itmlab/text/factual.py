"""Scene graphs from a sequence-to-sequence parser in FACTUAL's format, with token spans found by alignment."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import ItmlabError
from ..fetching import fetched
from .factual_graph import factual_graph
from .graph import SceneGraph, tokenise
from .tokenise import plain_text

if TYPE_CHECKING:
    import torch

PUBLISHED = "lizhuang144/flan-t5-base-VG-factual-sg"
INSTRUCTION = "Generate Scene Graph: "  # what the published models were trained with
LONGEST = 512  # pieces of a caption, with the instruction; T5 was trained with so many


class FactualParser:
    """A FACTUAL parser by name or folder (safetensors only, no code of it is run); nothing is loaded before `parse`.

    `faults` counts what in the outputs so far could not be read, `cut` the captions that were too long for the model.
    """

    def __init__(self, name_or_path: str = PUBLISHED, *, maximum_new_tokens: int = 256, device: str | None = None):
        self.name, self.maximum_new_tokens, self.device = str(name_or_path), maximum_new_tokens, device
        self.faults = self.cut = 0
        self._loaded: tuple | None = None

    def parse(self, captions: Sequence[str], *, batch_size: int = 32) -> list[SceneGraph]:
        """One graph a caption, over the tokens of `text.tokenise`; a caption without a word has an empty one.

        Decoding is greedy. Of an output that is not in the format, what can be read is read; how much could not, and
        the first such piece, is one warning line.
        """
        if isinstance(captions, str):
            raise ItmlabError("one caption where a list is expected", remedy="write parse([caption])")
        tokens = [tokenise(plain_text(caption)) for caption in captions]
        spoken = [row for row, own in enumerate(tokens) if any(token[0].isalnum() for token in own)]
        spoken.sort(key=lambda row: (len(captions[row]), row))  # alike in length: little padding
        graphs = [SceneGraph(tokens=own) for own in tokens]
        unread: list[tuple[int, str]] = []
        for start in range(0, len(spoken), batch_size):
            rows = spoken[start : start + batch_size]
            for row, text in zip(rows, self.write([captions[row] for row in rows]), strict=True):
                graphs[row], faults = factual_graph(text, tokens[row])
                if not faults and not graphs[row].objects:
                    faults = ["it is empty"]
                unread += [(row, fault) for fault in faults]
        if unread:
            self.faults += len(unread)
            row, fault = min(unread)
            lines = len({row for row, _ in unread})
            warnings.warn(
                f"{self.name}: {len(unread)} pieces of the output for {lines} of {len(captions)} captions could not be "
                f"read; the first, for caption {row}: {fault}",
                stacklevel=2,
            )
        return graphs

    def write(self, captions: Sequence[str]) -> list[str]:
        """What the model writes for each caption, as it is."""
        import torch

        model, tokenizer = self._load()
        texts = [INSTRUCTION + plain_text(caption) for caption in captions]
        asked = tokenizer(texts, return_tensors="pt", padding=True, truncation=True, max_length=LONGEST)
        self.cut += int((asked["attention_mask"].sum(dim=1) >= LONGEST).sum())
        with torch.inference_mode():
            written = model.generate(
                **{name: asked[name].to(model.device) for name in ("input_ids", "attention_mask")},
                max_new_tokens=self.maximum_new_tokens,
                num_beams=1,
                do_sample=False,
            )
        return tokenizer.batch_decode(written, skip_special_tokens=True)

    def _load(self) -> "tuple[torch.nn.Module, object]":
        if self._loaded is None:
            import torch
            from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

            options = {"use_safetensors": True, "trust_remote_code": False, "output_loading_info": True}
            model, report = fetched(self.name, lambda: AutoModelForSeq2SeqLM.from_pretrained(self.name, **options))
            lacking = sorted(report["missing_keys"])
            if lacking:  # transformers would fill them with noise
                raise ItmlabError(
                    f"the checkpoint lacks {', '.join(lacking[:4])}{' and more' if len(lacking) > 4 else ''}",
                    where=self.name,
                    remedy=f"use a whole one, such as {PUBLISHED}",
                )
            tokenizer = fetched(self.name, lambda: AutoTokenizer.from_pretrained(self.name, trust_remote_code=False))
            device = self.device or ("cuda" if torch.cuda.is_available() else "cpu")
            self._loaded = model.float().eval().to(device), tokenizer
        return self._loaded
