"""Five different captions of a scene, all of them true of it."""

import random
from dataclasses import dataclass

from ....text.graph import SceneGraph
from ..entail import TRUE, entails
from ..facts import Facts
from .choose import Chooser
from .frames import FRAMES, fragment
from .sentence import Sentence, text


@dataclass(frozen=True)
class Caption:
    """A sentence, its scene graph, and for each object of the graph the things of the scene that it means."""

    text: str
    graph: SceneGraph
    means: tuple[tuple[int, ...], ...]


def write_captions(facts: Facts, *, seed: int, index: int, unannotated: float, count: int = 5) -> list[Caption]:
    """`count` captions of the scene of `facts`, from the stream of (seed, index); `unannotated` in 0..1 is the knob."""
    dice = random.Random(f"captions/{seed}/{index}")
    found: dict[str, Caption] = {}
    frames = list(FRAMES)
    tries = 0
    while len(found) < count:
        if not frames:
            frames = list(FRAMES)
        tries += 1
        at = dice.choices(range(len(frames)), [weight for _, weight, _, _ in frames])[0]
        frame, _, stop, capital = frames[at] if tries < 60 else (fragment, 1.0, 0.5, 0.5)
        sentence = Sentence()
        # where a scene offers little to say, later tries say it more specifically
        frame(Chooser(facts, dice, unannotated * max(1 - tries / 60, 0.0) ** 0.5), sentence)
        graph = sentence.graph(stop=dice.random() < stop, capital=dice.random() < capital)
        written = text(graph.tokens)
        thin = _says_little(graph) and dice.random() < 0.8
        if not thin and written not in found and entails(facts, graph) == TRUE:
            found[written] = Caption(written, graph, tuple(sentence.means))
            if tries < 60:
                frames.pop(at)
    return list(found.values())


def _says_little(graph: SceneGraph) -> bool:
    """Whether a graph only names things of one sort ("A man."), which should not be written often."""
    named = {thing.lemma for thing in graph.objects}
    return len(named) == 1 and not graph.relations and not any(thing.attributes for thing in graph.objects)
