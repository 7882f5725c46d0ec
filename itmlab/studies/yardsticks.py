"""Yardsticks here: any run on them, one that the drawn world confirms, and our generators' negatives beside theirs.

`scenes_yardstick` makes SugarCrepe's seven kinds (Hsieh et al. 2023) of the world's captions; only sentences that the
world calls false of their picture count. `negative_quality` asks of any source of negatives what SugarCrepe asks of
benchmarks: are they fluent, can they be told without looking, and are they false at all?
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log10
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..metrics import CausalModel, Share, TrueNegatives, fluency, true_negative_rate
from ..metrics.statistics import Interval, interval
from ..metrics.yardstick_scores import YardstickTable, measure, text_scores
from ..metrics.yardsticks import Yardstick, YardstickItem, picture_key
from ..scenes.lexicon import attributes, nouns
from ..synthesis.negative import Change, edited
from ..synthesis.rules import article, with_article
from ..text import SceneGraph, SceneObject, Span
from ..text.alignment import token_characters
from .kit.bars import Dot, Row, interval_rows
from .kit.scoring import matching
from .kit.theme import BLUE, GREEN, MUTED, ORANGE
from .tags.negatives import SyntheticNegatives, truth_labels_of

# Any run on any of them.


def run_on_yardstick(
    run: Any,
    yardstick: Yardstick,
    images: str | Path | CaptionSet | None = None,
    *,
    text: Sequence[str | Path] = (),
    seed: int = 0,
) -> YardstickTable:
    """How often a run (or a model of any kind) tells true from false on the items whose pictures are at hand.

    `images` are as for `Yardstick.with_pictures`. `text` are the text-only controls, each by what it scores, as
    `text_scores` takes it; without any "scenes" on that yardstick and "own" on all others. Without a run (None) all
    items are judged by their controls alone.
    """
    chosen = yardstick if run is None else yardstick.with_pictures(images)
    text = text or ("scenes" if yardstick.name == "scenes" else "own",)
    match = None if run is None else matching(run, chosen.pictures)
    scores = {f"text only ({Path(by).name.split('.')[0]})": text_scores(chosen, by) for by in text}
    return measure(chosen, match, text=scores, seed=seed)


# A yardstick of the drawn world: SugarCrepe's kinds, each sentence one change away from a caption.

KINDS = ("add_att", "add_obj", "replace_att", "replace_obj", "replace_rel", "swap_att", "swap_obj")
LOOKS = ("colour", "pattern", "size", "age")  # categories of adjectives that stand before their noun
ASIDE = ("next to", "near", "behind", "with", "beside")  # what something else is added by
TRIED = 6  # sentences of a caption that the world is asked about, of each kind
Swap = tuple[Span, str]  # a place in a caption, and the word that is to stand there


def scenes_yardstick(
    data: CaptionSet, *, kinds: Sequence[str] = KINDS, balanced_by: str | CausalModel | None = "scenes", seed: int = 0
) -> Yardstick:
    """At most one item of each kind for each picture of `scenes`, by the first caption that gives one.

    Words put in are words that captions of `data` say in such a place, drawn by `seed` for each caption alone. Of those
    drawn that the world calls false one stays: the first, or with `balanced_by`, a causal language model, by turns one
    that it finds likelier than the caption and one that it does not, where there is a choice. (SugarCrepe, Sec. 3.3,
    throws items away until as many are the one as the other.) ItmlabError: data without a world, another kind.
    """
    if data.world is None:
        raise ItmlabError("this dataset has no ground truth", where=data.name, remedy='use itmlab.load("scenes")')
    if wrong := [kind for kind in kinds if kind not in KINDS]:
        raise ItmlabError(f"no kind {wrong[0]!r}", where="scenes yardstick", remedy=f"there are {', '.join(KINDS)}")
    usage = _Usage(data)
    items: list[YardstickItem] = []
    left = {kind: list(range(len(data))) for kind in kinds}
    for turn in range(max(map(len, data.captions_of_image), default=0)):
        drawn: dict[tuple[str, int, int], list[str]] = {}
        for kind, images in left.items():
            for image in images:
                if turn < len(own := data.captions_of_image[image]):
                    caption = int(own[turn])
                    dice = random.Random(f"yardstick/{seed}/{kind}/{data.caption_ids[caption]}")
                    drawn[kind, image, caption] = usage.changed(kind, caption, dice)[:TRIED]
        labels = truth_labels_of(data, [(image, one) for (_, image, _), some in drawn.items() for one in some])
        false = {key: [one for one in some if labels[key[1], one] == 0] for key, some in drawn.items()}
        for (kind, image, caption), one in _chosen(data, false, balanced_by).items():
            name, source = data.image_ids[image], data.caption_ids[caption]
            items.append(YardstickItem(name, (data.captions[caption],), (one,), kind, source, truth=False))
            left[kind].remove(image)
    missing = {f"pictures without a sentence of the kind {kind}": len(some) for kind, some in left.items() if some}
    return Yardstick("scenes", tuple(sorted(items, key=lambda item: (item.kind, item.source))), missing, data)


def _chosen(
    data: CaptionSet, false: Mapping[tuple[str, int, int], list[str]], balanced_by: str | CausalModel | None
) -> dict[tuple[str, int, int], str]:
    """One sentence of each that has any."""
    if balanced_by is None:
        return {key: some[0] for key, some in false.items() if some}
    asked = list(dict.fromkeys(one for key, some in false.items() if some for one in (data.captions[key[2]], *some)))
    known = dict(zip(asked, fluency(asked, balanced_by).perplexity.log().tolist(), strict=True)) if asked else {}
    found = {}
    for key, some in false.items():
        gaps = [known[one] - known[data.captions[key[2]]] for one in some]
        likelier = random.Random(f"{key[0]}/{data.caption_ids[key[2]]}").random() < 0.5
        fitting = [one for one, gap in zip(some, gaps, strict=True) if (gap < 0) == likelier]
        if some:
            found[key] = fitting[0] if fitting else some[min(range(len(some)), key=lambda at: abs(gaps[at]))]
    return found


class _Usage:
    """What the captions of a set say of each noun, and what can be changed in one of them so that it still reads well.

    All words are taken as they stand: of "dogs" is said what is said of several.
    """

    def __init__(self, data: CaptionSet):
        self.data, self.graphs = data, data.world.graphs
        self.nouns, self.relations = data.world.swaps()
        self.roles: dict[str, set[tuple[str, str]]] = defaultdict(set)  # of a noun: ("is", "red"), ("of", "on"), …
        self.aside: Counter[tuple[str, str]] = Counter()  # ("next to", "bench")
        for graph in self.graphs:
            words = [token.lower() for token in graph.tokens]
            for at, thing in enumerate(graph.objects):
                if thing.span is not None:
                    self.roles[words[thing.span.end - 1]] |= _roles(graph, at)
            for link in graph.relations:
                one = graph.objects[link.object]
                if link.lemma in ASIDE and _single(one) and _category(one) in ("alive", "thing"):
                    self.aside[link.lemma, words[one.span.start]] += 1

    def changed(self, kind: str, caption: int, dice: random.Random) -> list[str]:
        """Different sentences of this kind, in the order in which the dice draw them."""
        graph, text = self.graphs[caption], self.data.captions[caption]
        places, words = token_characters(text, graph.tokens), [token.lower() for token in graph.tokens]
        made = [list(each) for each in getattr(self, f"_{kind}")(graph, words)]
        dice.shuffle(made)
        changes = (sorted((with_article(words, *swap, kind) for swap in each), key=_place) for each in made)
        return list(dict.fromkeys(edited(text, graph.tokens, places, each).sentence for each in changes))

    def _others(self, noun: str, look: str) -> list[str]:
        """What captions say of such a thing instead, of the same category."""
        said = sorted(word for role, word in self.roles[noun] if role == "is" and word in attributes())
        return [word for word in said if word != look and _look(word) == _look(look)]

    def _replace_att(self, graph: SceneGraph, words: list[str]) -> Iterator[list[Swap]]:
        for thing, (look, span) in _all_looks(graph):
            yield from ([(span, other)] for other in self._others(words[thing.span.end - 1], look))

    def _add_att(self, graph: SceneGraph, words: list[str]) -> Iterator[list[Swap]]:
        for thing in filter(_single_word, graph.objects):
            noun = words[thing.span.start]
            said = sorted(word for role, word in self.roles[noun] if role == "is" and _look(word) in LOOKS)
            yield from ([(thing.span, f"{word} {noun}")] for word in said if not _looks(thing))

    def _swap_att(self, graph: SceneGraph, words: list[str]) -> Iterator[list[Swap]]:
        for (one, (look, span)), (other, (theirs, place)) in combinations(_all_looks(graph), 2):
            usual = theirs in self._others(words[one.span.end - 1], look)
            if one is not other and usual and look in self._others(words[other.span.end - 1], theirs):
                yield [(span, theirs), (place, look)]

    def _replace_obj(self, graph: SceneGraph, words: list[str]) -> Iterator[list[Swap]]:
        for at, thing in enumerate(graph.objects):
            if _single_word(thing):
                roles, others = _roles(graph, at), self.nouns.get(words[thing.span.start], ())
                yield from ([(thing.span, other)] for other in others if roles <= self.roles[other])

    def _swap_obj(self, graph: SceneGraph, words: list[str]) -> Iterator[list[Swap]]:
        heads = [each for each in graph.objects if _single(each)]
        for one, other in combinations(heads, 2):
            if one.lemma != other.lemma and _category(one) == _category(other):
                yield [(one.span, words[other.span.start]), (other.span, words[one.span.start])]

    def _replace_rel(self, graph: SceneGraph, words: list[str]) -> Iterator[list[Swap]]:
        for link in graph.relations:
            subject, thing = graph.objects[link.subject], graph.objects[link.object]
            if link.span is None or subject.span is None or thing.span is None:
                continue
            roles = self.roles[words[subject.span.end - 1]], self.roles[words[thing.span.end - 1]]
            for other in self.relations.get(graph.text(link.span).lower(), ()):
                if ("does", other) in roles[0] and ("of", other) in roles[1]:
                    yield [(link.span, other)]

    def _add_obj(self, graph: SceneGraph, words: list[str]) -> Iterator[list[Swap]]:
        """Something more, beside a thing that captions say to be where it is put."""
        for thing in filter(_single_word, graph.objects):
            noun = words[thing.span.start]
            for aside, other in self.aside:
                if other not in words and ("does", aside) in self.roles[noun]:
                    yield [(thing.span, f"{noun} {aside} {article(other)} {other}")]


def _place(change: Change) -> Span:
    return change.span


def _roles(graph: SceneGraph, at: int) -> set[tuple[str, str]]:
    """What a caption says of one of its objects: how it looks, what it does and what is done to it."""
    does = {("does", graph.text(link.span).lower()) for link in graph.relations if link.subject == at and link.span}
    of = {("of", graph.text(link.span).lower()) for link in graph.relations if link.object == at and link.span}
    return does | of | {("is", one.lemma) for one in graph.objects[at].attributes}


def _looks(thing: SceneObject) -> list[tuple[str, Span]]:
    """Where the adjectives stand that are one word before their noun, and what they are."""
    before = (one for one in thing.attributes if one.span and thing.span and one.span.end <= thing.span.start)
    return [(one.lemma, one.span) for one in before if one.span.end - one.span.start == 1 and _look(one.lemma) in LOOKS]


def _all_looks(graph: SceneGraph) -> list[tuple[SceneObject, tuple[str, Span]]]:
    return [(thing, look) for thing in graph.objects for look in _looks(thing)]


def _look(word: str) -> str:
    return attributes()[word].category if word in attributes() else ""


def _single_word(thing: SceneObject) -> bool:
    return thing.span is not None and thing.span.end - thing.span.start == 1


def _single(thing: SceneObject) -> bool:
    return _single_word(thing) and not thing.plural


def _category(thing: SceneObject) -> str:
    """What may stand in its place: "alive", thing, worn, stuff or place, by the world's lexicon."""
    found = nouns()[thing.lemma][0].category if thing.lemma in nouns() else ""
    return "alive" if found in ("person", "animal") else found


# The other way round: negatives of any source by what SugarCrepe asks of benchmarks.

KIND_OF = {"object": "replace_obj", "attribute": "replace_att", "relation": "replace_rel", "number": "replace_number"}


def as_yardstick(made: SyntheticNegatives) -> Yardstick:
    """Each synthetic negative beside the caption that it was made of, named as SugarCrepe names what was changed.

    A word that was replaced is "replace_word", changes in more than one kind of phrase are "several".
    """
    items = []
    for one in made.all():
        [kind, *more] = dict.fromkeys(one.kind or ("word",))
        true, image = made.data.captions[one.caption], made.data.image_ids[one.image]
        named = "several" if more else KIND_OF.get(kind, f"replace_{kind}")
        source = made.data.caption_ids[one.caption]
        items.append(YardstickItem(image, (true,), (one.sentence,), named, source, truth=one.truth))
    if not items:
        raise ItmlabError("there are no negatives", where=made.generator)
    return Yardstick(made.generator, tuple(items), pictures=made.data)


@dataclass(frozen=True)
class NegativeQuality:
    """Of the negatives of one kind: how fluent, how often told without a picture, and how often false.

    `fluency` is the median of a negative's perplexity over its caption's. `text_only` is how often the caption is the
    likelier one, `shorter` how often it has fewer words, ties half; `truth` is None where no world was asked.
    """

    negatives: int
    fluency: Interval
    text_only: Share
    shorter: Share
    truth: TrueNegatives | None


def negative_quality(
    sources: Mapping[str, Yardstick | SyntheticNegatives], *, by: str | Path = "own"
) -> dict[str, dict[str, NegativeQuality]]:
    """`[source][kind]` of the negatives of each source: of a yardstick's items, or of a generator's.

    `by` is what judges sentences without a picture, as `text_scores` takes it; "own" learns from each source's captions
    of other pictures, so give a file or a model's name where sources are of different captions.
    """
    table: dict[str, dict[str, NegativeQuality]] = {}
    for name, source in sources.items():
        yardstick = source if isinstance(source, Yardstick) else as_yardstick(source)
        scores = text_scores(yardstick, by)
        sizes = [len(item.sentences) for item in yardstick.items]
        ratios = [
            float(part[len(item.true)] / part[0])
            for item, part in zip(yardstick.items, scores.split(sizes), strict=True)
        ]
        images = list(dict.fromkeys(picture_key(item.image) for item in yardstick.items))
        place = {image: at for at, image in enumerate(images)}
        table[name] = {}
        for kind, row in measure(yardstick, text={"text only": scores}).rows.items():
            chosen = [at for at, item in enumerate(yardstick.items) if kind in ("all", item.kind)]
            owners = [place[picture_key(yardstick.items[at].image)] for at in chosen]
            labels = [yardstick.items[at].truth for at in chosen]
            asked = any(label is not None for label in labels)
            table[name][kind] = NegativeQuality(
                row.items,
                interval(np.array([ratios[at] for at in chosen]), np.array(owners), np.median),
                row.controls["text only"],
                row.controls["shorter"],
                true_negative_rate(labels, owners) if asked else None,
            )
    return table


def draw_negative_quality(
    table: Mapping[str, Mapping[str, NegativeQuality]], *, title: str, subtitle: str = ""
) -> go.Figure:
    """A row for each kind of each source: told without a picture, perplexity over the caption's, and truly false."""
    rows: list[Row] = []
    for source, kinds in table.items():
        rows.append((source, []))
        for kind, one in kinds.items():
            told = one.text_only
            dots: list[Dot | None] = [Dot(told.percent, told.lower, told.upper, BLUE, f"{told.percent:.0f} %", at=103)]
            dots.append(Dot(*one.fluency, ORANGE, f"{one.fluency.value:.2f}"))
            if one.truth is not None and one.truth.share.of:
                false = one.truth.share
                dots.append(Dot(false.percent, false.lower, false.upper, GREEN, f"{false.percent:.0f} %", at=103))
            else:
                dots.append(None)
            rows.append((f"{kind} ({one.negatives:,})", dots))
    ratios = [one.fluency for kinds in table.values() for one in kinds.values()]
    ends = [log10(min(0.8, *(one.lower for one in ratios))), log10(max(2.0, *(one.upper for one in ratios)) * 3)]
    times = {"type": "log", "range": ends, "tickvals": [1, 2, 5, 10, 20, 50, 100], "title": ""}
    percent = {"range": [0, 135], "tickvals": [0, 50, 100]}
    axes = [{"title": "%", **percent}, times, {"title": "%", **percent}]
    panels = ["told without a picture", "times the caption's perplexity", "truly false"]
    known = any(one.truth is not None for kinds in table.values() for one in kinds.values())
    count = 3 if known else 2
    figure = interval_rows(rows, axes=axes[:count], title=title, subtitle=subtitle, panels=panels[:count])
    for column, value in ((1, 50), (2, 1)):
        figure.add_vline(x=value, line={"color": MUTED, "width": 1, "dash": "dot"}, row=1, col=column)
    return figure
