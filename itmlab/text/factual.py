"""Scene graphs from a sequence-to-sequence parser in FACTUAL's format, with token spans found by alignment.

FACTUAL (Li et al., 2023) fine-tunes T5 to write a caption's graph as "( dog , is , brown ) , ( dog , on , grass )", in
lemmas and without places. Here the text is read, then each of its words is looked for in the caption.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ..errors import ItmlabError
from ..storage import fetched
from .graph import Attribute, Relation, SceneGraph, SceneObject, Span, tokenise
from .rules.lexicon import noun_lemma, verb_lemma
from .tokens import plain_text

if TYPE_CHECKING:
    import torch

PUBLISHED = "lizhuang144/flan-t5-base-VG-factual-sg"
INSTRUCTION = "Generate Scene Graph: "  # what the published models were trained with
LONGEST = 512  # pieces of a caption, with the instruction; T5 was trained with so many
IS = "is"  # the relation that FACTUAL gives to attributes and numbers
GAP = 2  # tokens that may stand between two words of a phrase ("sit [down] on", "in [the] middle of")
ALIKE = 0.8  # similarity of spelling ("blond", "blonde"; "feild", "field")
SHORTEST = 4  # letters: shorter words are alike too easily
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


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
        worded = [row for row, own in enumerate(tokens) if any(token[0].isalnum() for token in own)]
        worded.sort(key=lambda row: (len(captions[row]), row))  # alike in length: little padding
        graphs = [SceneGraph(tokens=own) for own in tokens]
        unread: list[tuple[int, str]] = []
        for start in range(0, len(worded), batch_size):
            rows = worded[start : start + batch_size]
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
        given = {name: asked[name].to(model.device) for name in ("input_ids", "attention_mask")}
        with torch.inference_mode():
            written = model.generate(**given, max_new_tokens=self.maximum_new_tokens, num_beams=1, do_sample=False)
        return tokenizer.batch_decode(written, skip_special_tokens=True)

    def _load(self) -> "tuple[torch.nn.Module, object]":
        if self._loaded is None:
            import torch
            from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

            options = {"use_safetensors": True, "trust_remote_code": False, "output_loading_info": True}
            model, report = fetched(self.name, lambda: AutoModelForSeq2SeqLM.from_pretrained(self.name, **options))
            if lacking := sorted(report["missing_keys"]):  # transformers would fill them with noise
                raise ItmlabError(
                    f"the checkpoint lacks {', '.join(lacking[:4])}{' and more' if len(lacking) > 4 else ''}",
                    where=self.name,
                    remedy=f"use a whole one, such as {PUBLISHED}",
                )
            tokenizer = fetched(self.name, lambda: AutoTokenizer.from_pretrained(self.name, trust_remote_code=False))
            device = self.device or ("cuda" if torch.cuda.is_available() else "cpu")
            self._loaded = model.float().eval().to(device), tokenizer
        return self._loaded


class Reading(NamedTuple):
    """The tuples of one or three fields that were read, and a line for each piece of text that was not."""

    tuples: list[tuple[str, ...]]
    faults: list[str]


def read_tuples(text: str) -> Reading:
    """Every whole tuple of a FACTUAL string; a torn one, an empty field or words between tuples is a fault each.

    >>> read_tuples("( dog , is , brown ) , ( cat ) , ( dog , on")
    Reading(tuples=[('dog', 'is', 'brown'), ('cat',)], faults=["the tuple '(dog , on' is not closed"])
    """
    found = Reading([], [])

    def note_outside(between: str) -> None:
        if between.strip(" ,\n"):
            found.faults.append(f"{between.strip()[:60]!r} stands outside the tuples")

    first, *groups = text.split("(")
    note_outside(first)
    for group in groups:
        inside, closed, after = group.partition(")")
        fields = tuple(" ".join(one.split()) for one in inside.split(","))
        if not closed:
            found.faults.append(f"the tuple {'(' + inside.strip()[:60]!r} is not closed")
        elif len(fields) not in (1, 3) or not all(fields):
            found.faults.append(f"the tuple {'(' + inside[:60] + ')'!r} has not one or three fields")
        else:
            found.tuples.append(fields)
        note_outside(after)
    return found


@dataclass
class _Draft:
    """What a string says of one entity."""

    attributes: list[str] = field(default_factory=list)
    count: int | None = None
    span: Span | None = None


def factual_graph(text: str, tokens: Sequence[str]) -> tuple[SceneGraph, list[str]]:
    """The scene graph of a FACTUAL string, its spans found among the caption's `tokens`, and what was not read.

    Entities of one name are one object. "is" makes an attribute, "is" with a number the count. Objects are singular
    lemmas; attributes and relations stay as written. What has no counterpart in the caption has no span.

    >>> said = "( dogs , is , 2 ) , ( dogs , sit on , grass )"
    >>> graph, faults = factual_graph(said, ("dogs", "sitting", "on", "grass"))
    >>> graph.objects[0].lemma, graph.objects[0].count, graph.text(graph.relations[0].span)
    ('dog', 2, 'sitting on')
    """
    tuples, faults = read_tuples(text)
    drafts: dict[str, _Draft] = {}
    links: list[tuple[str, ...]] = []
    for fields in tuples:
        subject = drafts.setdefault(fields[0], _Draft())
        if len(fields) == 1:
            continue
        _, relation, target = fields
        if relation.lower() != IS:
            drafts.setdefault(target, _Draft())
            links.append(fields)
        elif target.isdecimal() and len(target) < 5:
            subject.count = int(target)
        elif target not in subject.attributes:
            subject.attributes.append(target)
    spans = _Spans(tokens)
    for name in sorted(drafts, key=lambda name: -len(name.split())):  # "soccer player" before "player"
        drafts[name].span = spans.object(name)
    objects = []
    for name, draft in drafts.items():
        lemma = noun_lemma(name.lower())
        plural = lemma != name.lower() or (draft.count or 1) > 1
        count = draft.count if draft.count is not None else (None if plural else 1)
        said = tuple(Attribute(one.lower(), spans.attribute(one, draft.span)) for one in draft.attributes)
        objects.append(SceneObject(lemma, said, count, plural, draft.span))
    numbers = {name: number for number, name in enumerate(drafts)}
    relations = []
    for subject, relation, target in dict.fromkeys(links):
        span = spans.relation(relation, drafts[subject].span, drafts[target].span)
        relations.append(Relation(numbers[subject], relation.lower(), numbers[target], span))
    return SceneGraph(tuple(objects), tuple(relations), tuple(tokens)), faults


class _Spans:
    """Where each part of a graph is said. No word is said for two entities; relations may share theirs."""

    def __init__(self, tokens: Sequence[str]):
        self.tokens, self.taken = [token.lower() for token in tokens], [False] * len(tokens)

    def object(self, name: str) -> Span | None:
        """The first place of the name (or of as many of its last words as are there) that no other entity has."""
        words = name.lower().split()
        endings = [words[at:] for at in range(len(words))]
        return self._place(endings, lambda span: span.start, take=True)

    def attribute(self, said: str, owner: Span | None) -> Span | None:
        """The free place nearest to the entity that it is said of."""
        return self._place(_runs(said), lambda span: _distance(span, owner), take=True)

    def relation(self, said: str, subject: Span | None, target: Span | None) -> Span | None:
        """The place nearest to both entities, not within either of them."""
        return self._place(_runs(said), lambda span: _distance(span, subject) + _distance(span, target), take=False)

    def _place(self, parts: list[list[str]], far: Callable[[Span], float], *, take: bool) -> Span | None:
        for words in parts:  # the most words first
            found = [(score, at) for score, at in spot(words, self.tokens) if not any(self.taken[at.start : at.end])]
            if found:
                _, span = min(found, key=lambda place: (-place[0], far(place[1])))
                if take:
                    self.taken[span.start : span.end] = [True] * (span.end - span.start)
                return span
        return None


def _runs(said: str) -> list[list[str]]:
    """All runs of neighbouring words, longest first."""
    words = said.lower().split()
    lengths = range(len(words), 0, -1)
    return [words[at : at + length] for length in lengths for at in range(len(words) - length + 1)]


def _distance(span: Span, other: Span | None) -> int:
    return 0 if other is None else max(other.start - span.end, span.start - other.end, 0)


def spot(words: Sequence[str], tokens: Sequence[str]) -> list[tuple[float, Span]]:
    """Every place where all `words` stand in this order, each with a score: 1 letter for letter, less otherwise.

    Words and tokens are lower-case. A place costs 0.05 for each token that stands between its words.

    >>> spot(["dog"], ["a", "dogs", "dog"])
    [(0.95, Span(start=1, end=2)), (1.0, Span(start=2, end=3))]
    """
    likeness = [[_likeness(word, token) for token in tokens] for word in words]
    found = []
    for start in range(len(tokens)):
        at, score = start, likeness[0][start]
        for row in likeness[1:]:
            if not score:
                break
            following = range(at + 1, min(at + 2 + GAP, len(tokens)))
            best = max(following, key=lambda place: row[place] - 0.05 * (place - at), default=None)
            if best is None or not row[best]:
                score = 0.0
                break
            score, at = score + row[best] - 0.05 * (best - at - 1), best
        if score:
            found.append((score / len(words), Span(start, at + 1)))
    return found


@lru_cache(maxsize=100_000)
def _likeness(word: str, token: str) -> float:
    """1 for the same word, 0.95 for a form of it, its similarity of spelling above 0.8, else 0."""
    if word == token:
        return 1.0
    if _lemmas(word) & _lemmas(token):
        return 0.95
    if word.isdecimal() and int(word) < len(NUMBERS):
        return 0.95 if NUMBERS[int(word)] == token else 0.0
    shortest = min(len(word), len(token))
    if shortest < SHORTEST or 2 * shortest < ALIKE * (len(word) + len(token)):  # the ratio cannot reach ALIKE
        return 0.0
    ratio = SequenceMatcher(None, word, token, autojunk=False).ratio()
    return ratio * 0.9 if ratio >= ALIKE else 0.0


@lru_cache(maxsize=20_000)
def _lemmas(word: str) -> frozenset[str]:
    return frozenset((word, noun_lemma(word), verb_lemma(word)))
