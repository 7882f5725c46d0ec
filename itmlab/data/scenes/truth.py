"""The verdicts of many sentences on many scenes at once: whole columns are ruled out before anything is searched."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int8

from ...text.graph import SceneGraph, SceneObject
from .entail import TRUE, Search, candidates, is_group
from .facts import Facts
from .lexicon import nouns


class Verdicts:
    """Verdicts (entail.TRUE, OPEN, FALSE) of graphs on a fixed list of scenes; equal graphs are judged once."""

    def __init__(self, scenes: Sequence[Facts]):
        self.facts = scenes
        self.kinds: dict[str, np.ndarray] = {}
        self.backdrops: dict[str, np.ndarray] = {}
        for at, facts in enumerate(scenes):
            for table, kinds in ((self.kinds, [t.kind for t in facts.things]), (self.backdrops, facts.scene.backdrop)):
                for kind in kinds:
                    table.setdefault(kind, np.zeros(len(scenes), dtype=bool))[at] = True
        self.objects: dict[SceneObject, tuple[np.ndarray, dict[int, list[tuple[int, int]]]]] = {}
        self.columns: dict[SceneGraph, Int8[np.ndarray, "scene"]] = {}

    def column(self, graph: SceneGraph) -> Int8[np.ndarray, "scene"]:
        """The verdict of one graph on every scene."""
        meaning = graph.meaning()
        if meaning not in self.columns:
            self.columns[meaning] = self._judge(meaning)
        return self.columns[meaning]

    def _judge(self, graph: SceneGraph) -> Int8[np.ndarray, "scene"]:
        verdicts = np.full(len(self.facts), TRUE, dtype=np.int8)
        fits = [self._object(wanted) for wanted in graph.objects]
        for levels, _ in fits:
            np.minimum(verdicts, levels, out=verdicts)
        if len(graph.objects) == 1 and not graph.relations and not is_group(graph.objects[0]):
            return verdicts
        for at in np.flatnonzero(verdicts):
            choices = [chosen.get(int(at), []) for _, chosen in fits]
            verdicts[at] = Search(self.facts[at], graph, choices).best()
        return verdicts

    def _object(self, wanted: SceneObject) -> tuple[Int8[np.ndarray, "scene"], dict[int, list[tuple[int, int]]]]:
        """The best level of an object on every scene, and its candidates where there are any."""
        if wanted not in self.objects:
            levels, chosen = np.zeros(len(self.facts), dtype=np.int8), {}
            for at in np.flatnonzero(self._shown(wanted.lemma)):
                found = candidates(self.facts[at].scene, wanted)
                if found:
                    chosen[int(at)], levels[at] = found, found[0][1]
            if wanted.count == 0:
                levels[:] = TRUE
            self.objects[wanted] = (levels, chosen)
        return self.objects[wanted]

    def _shown(self, lemma: str) -> np.ndarray:
        """Scenes that show something the word may name."""
        shown = np.zeros(len(self.facts), dtype=bool)
        if lemma not in nouns():
            return ~shown
        for entry in nouns()[lemma]:
            for kind in entry.means | entry.perhaps:
                for table in (self.kinds, self.backdrops):
                    if kind in table:
                        shown |= table[kind]
        return shown
