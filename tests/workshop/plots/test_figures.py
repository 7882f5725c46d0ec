"""Every figure is drawn once, with hostile words in it; committed measured figures show their results."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from workshop import analysis, plots
from workshop.analysis.attention import AttentionMap
from workshop.analysis.embeddings import BatchNeighbourhood
from workshop.analysis.rankings import Ranking
from workshop.analysis.words import Part, WordExample, WordRow
from workshop.plots import scene_graphs
from workshop.plots.drawn import drawings
from workshop.plots.saving import figure_json, figure_settings

from itmlab.metrics.statistics import Share
from itmlab.synthesis import Negative
from itmlab.text import Span
from itmlab.text.graph import Attribute, Relation, SceneGraph, SceneObject
from itmlab.text.masking import Phrase
from tests.plain_model import PlainModel
from tests.refusals import refused
from tests.workshop.reading import words
from tests.workshop.small_world import small_set
from tests.workshop.synthesis_batches import small_batch
from tests.workshop.synthetic import synthetic_study

FIGURES = Path(__file__).resolve().parents[3] / "figures"
HOSTILE = "<img src=x onerror=alert(1)> $x$"
TITLES = {"title": HOSTILE, "subtitle": HOSTILE}
ENDS, CURVE = (2.0, 1.0, 3.0), np.array([30.0, 20.0, 10.0])
POINTS = np.random.default_rng(0).normal(size=(40, 2))
PICTURES = [Image.new("RGB", (32 + 8 * index, 32), "teal") for index in range(6)]
RANKING = Ranking(
    np.array([2, 0, 1]), CURVE / 10, 4.0, np.array([False, True, False]), np.array([1, 0, -1]), {"R@3": 100.0}
)
JUDGED = {"weights": CURVE / 40, "truth_labels": np.array([1, 0, -1]), "drawn": np.array([0, 2, 0])}
CHANGE = {"spans": (Span(1, 2),), "source": ("red",), "replacement": (HOSTILE,), "kind": ("attribute",)}
NEGATIVE = Negative(f"A {HOSTILE} square.", 0, 0, score=0.7, truth=False, fluency=12.3, **CHANGE)
PAIRS = plots.Pairs(np.array([0.5, 0.6]), np.array([0.5, 0.7]), np.array([0, 1]))
MAN = SceneObject("man", (Attribute("old"), Attribute(HOSTILE)), count=2)
OBJECTS = (MAN, SceneObject("horse", (), count=1), SceneObject("park"), SceneObject("sky"))
GRAPH = SceneGraph(OBJECTS, (Relation(0, "ride", 1), Relation(1, "like", 0), Relation(1, "in", 2), Relation(2, "x", 2)))
SENTENCE = SceneGraph((SceneObject("<dog>", (), span=Span(1, 2)),), (), ("A", "<dog>", "runs", "."))
LONG = SceneGraph((), (), ("word",) * 500 + ("w" * 900,))


def maps(*spoken):
    return [AttentionMap(np.eye(4), word, PICTURES[0]) for word in spoken]


def false_negative_probability():
    study = synthetic_study(16)
    judged = analysis.judge(study, 3)
    curves = analysis.curves(study.sampler.statistics, judged.positive_score)
    observed = (study.positive_scores, study.negative_scores)
    return plots.draw_false_negative_probability(curves, *observed, **TITLES, judged=judged)


def prototypes():
    batch = small_batch()
    read_out = analysis.read_out(batch, 4, clusters=3, sigma=0.3)
    return plots.draw_prototypes(analysis.attribution(batch, read_out), [HOSTILE] * 16, match=0.1, **TITLES)


def kernel_memory(anchor):
    read_out = analysis.read_out(small_batch(), 4, clusters=16, sigma=0.3)
    return plots.draw_kernel_memory(read_out, [HOSTILE] * 16, match=4, anchor=anchor, **TITLES)


def neighbourhood(synthetic):
    hard, positive = torch.arange(12) > 8, torch.arange(12) == 11
    known = torch.arange(12), positive, hard & ~positive, hard
    batch = BatchNeighbourhood(*known, POINTS[:1], POINTS[:12], POINTS[:synthetic])
    return plots.draw_batch_neighbourhood(batch, ids=[HOSTILE] * 12)


def explained_words():
    parts = [Part("A", 0.1), Part(HOSTILE, 0.9), Part("red", rewritten=True), Part("w" * 900)]
    return plots.draw_explained_words([WordExample(PICTURES[0], (WordRow("made wrong", parts, {"tags": 0.5}, 0),))] * 2)


def scene():
    masks = np.zeros((2, 64, 64), dtype=bool)
    masks[0, :32], masks[1, 10:20, 10:20] = True, True
    boxes = np.array([[0, 0, 64, 32], [10, 10, 20, 20]])
    return scene_graphs.draw_scene(Image.new("RGB", (64, 64)), ["sky", HOSTILE], boxes, masks, captions=[HOSTILE])


DRAWINGS = {
    "forest": partial(plots.draw_forest, [(HOSTILE, []), (HOSTILE, [[plots.Dot(1.0)]])], axes=[{}], **TITLES),
    "gains": partial(plots.draw_gains, {HOSTILE: {HOSTILE: {"RSum": ENDS}}}, {"RSum": HOSTILE}, **TITLES),
    "curves": partial(
        plots.draw_curves, {HOSTILE: {HOSTILE: plots.Line(CURVE, None, CURVE, CURVE), "b": plots.Line(CURVE)}}, **TITLES
    ),
    "named curves": partial(
        plots.draw_curves, {"": {HOSTILE: plots.Line(CURVE), "b": plots.Line(CURVE)}}, named_at_end=True
    ),
    "densities": lambda: plots.draw_curves({"": analysis.densities({HOSTILE: CURVE, "none": CURVE[:0]})}, **TITLES),
    "sweep": lambda: plots.draw_curves(analysis.sweep_curves(analysis.memory_sweep(small_batch(), "sigma", [2, 3]))),
    "gallery": partial(
        plots.draw_gallery,
        PICTURES,
        [HOSTILE] * 6,
        frames=["#009E73"] * 6,
        badges=[HOSTILE] * 6,
        headings={0: HOSTILE, 4: "b"},
        **TITLES,
    ),
    "empty gallery": partial(plots.draw_gallery, [], [], **TITLES),
    "table": partial(
        plots.draw_table,
        {HOSTILE: [HOSTILE, [(HOSTILE, "#D55E00")]]},
        picture=PICTURES[0],
        beside=[HOSTILE],
        fills={HOSTILE: ["#F6F7F9"] * 2},
        **TITLES,
    ),
    "empty table": partial(plots.draw_table, {}, **TITLES),
    "false negative probability": false_negative_probability,
    "negative captions": partial(
        plots.draw_negative_captions, PICTURES[0], [HOSTILE], [HOSTILE] * 3, CURVE / 40, **JUDGED
    ),
    "ranked pictures": partial(
        plots.draw_ranked_pictures, HOSTILE, PICTURES, {HOSTILE: RANKING, "b": RANKING}, captions=[HOSTILE] * 6
    ),
    "ranked captions": partial(
        plots.draw_ranked_captions, PICTURES[0], [HOSTILE] * 3, {HOSTILE: RANKING}, own_captions=[HOSTILE]
    ),
    "kernel memory": partial(kernel_memory, None),
    "kernel memory of a picture": partial(kernel_memory, PICTURES[0]),
    "prototypes": prototypes,
    "attention": partial(plots.draw_attention_maps, {"FNE": maps("dog", HOSTILE)}, numbers=[0, 1], **TITLES),
    "a long sentence": partial(
        plots.draw_attention_maps, {"FNE": maps(*"abcdefghijk")}, outlines=[None] * 10 + [np.eye(48) > 0], **TITLES
    ),
    "no words": partial(plots.draw_attention_maps, {"FNE": []}, **TITLES),
    "nothing on a patch": partial(plots.draw_words_on_patch, {"FNE": []}, 0),
    "projection": partial(
        plots.draw_projection,
        {HOSTILE: {"pictures": POINTS[:10], "captions": POINTS}, "b": {"pictures": POINTS[:0], "captions": POINTS}},
        picked={"captions": [3, 5]},
        **TITLES,
    ),
    "batch": partial(neighbourhood, 3),
    "batch without synthesis": partial(neighbourhood, 0),
    "explained words": explained_words,
    "score scatter": partial(
        plots.draw_score_scatter, {HOSTILE: PAIRS, "set": plots.Pairs(PAIRS.positive, PAIRS.negative, -np.ones(2))}
    ),
    "examples": partial(
        plots.draw_synthetic_examples,
        [plots.Example(PICTURES[0], [("caption", Negative(HOSTILE), 0.5), ("hard", NEGATIVE, 0.25)])] * 2,
        beside=[HOSTILE],
        **TITLES,
    ),
    "both pictures": lambda: analysis.draw_both_pictures(
        {HOSTILE: {HOSTILE: analysis.BothPictures(*[Share(80.0, 70.0, 88.0, 8, 10)] * 2)}}, title=HOSTILE
    ),
    "graph": partial(scene_graphs.draw_scene_graph, GRAPH, **TITLES),
    "nothing": partial(scene_graphs.draw_scene_graph, SceneGraph()),
    "many objects": partial(
        scene_graphs.draw_scene_graph, SceneGraph(tuple(SceneObject(f"thing {n}") for n in range(90)), ())
    ),
    "phrases": partial(
        scene_graphs.draw_caption_spans,
        [SENTENCE, SENTENCE, LONG, SceneGraph()],
        hidden=[None, [Phrase("object", Span(1, 2))], None, None],
    ),
    "scene": scene,
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_it_is_drawn_and_no_word_in_it_takes_effect(name):
    figure = DRAWINGS[name]()
    drawn = figure_json(figure, {}).decode()
    assert not any(markup in drawn for markup in ("<img", "$x$", "<dog>")) and 60 < figure.layout.height < 4000


@pytest.mark.parametrize("name", drawings())
def test_a_committed_figure_shows_its_result(name):
    committed = json.loads((FIGURES / f"{name}.json").read_text(encoding="utf-8"))["figure"]
    now = json.loads(figure_json(plots.draw_result(name), {}))["figure"]
    assert committed["data"] == now["data"] and committed["layout"].get("annotations") == now["layout"].get(
        "annotations"
    )


def test_every_committed_figure_has_its_settings_and_every_setting_its_figure():
    assert sorted(figure_settings()) == sorted(path.stem for path in FIGURES.glob("*.json"))


def test_unknown_results_and_figures_are_refused():
    refused("no result 'fne_statistic' — did you mean fne_statistics", plots.draw_result, "fne_statistic")
    refused("no drawing of a result 'x'", plots.draw_rows, "x", [])


def test_all_that_a_graph_says_is_there_and_subjects_stand_left():
    figure = scene_graphs.draw_scene_graph(GRAPH)
    assert {"<b>2 × man</b>", "<b>horse</b>", "<b>sky</b>", "<i>ride</i>", "<i>like</i>", "<i>in</i>"} <= set(
        words(figure)
    )
    place = {note.text: note.x for note in figure.layout.annotations}
    assert place["<b>2 × man</b>"] < place["<b>horse</b>"] < place["<b>park</b>"]


def test_hidden_words_are_not_written():
    shown = scene_graphs.draw_caption_spans([SENTENCE])
    hidden = scene_graphs.draw_caption_spans([SENTENCE], hidden=[[Phrase("object", Span(1, 2))]])
    assert "&lt;dog&gt;" in str(words(shown)) and "&lt;dog&gt;" not in str(words(hidden))


def test_a_patch_of_a_finer_grid_is_the_one_in_the_same_place():
    coarse = AttentionMap(np.arange(4.0).reshape(2, 2), "dog", PICTURES[0])
    fine = AttentionMap(np.arange(16.0).reshape(4, 4), "dog", PICTURES[0])
    assert {"3.00", "15.00"} <= set(words(plots.draw_words_on_patch({"coarse": [coarse], "fine": [fine]}, 3)))


def test_above_the_cap_some_points_are_drawn_and_picked_ones_always():
    figure = plots.draw_projection({"a": {"captions": POINTS}}, picked={"captions": [39]}, most=8)
    numbers = figure.data[0].customdata.tolist()
    assert 39 in numbers and 8 <= len(numbers) <= 9


def test_examples_and_pairs_hold_the_hardest_of_each_source():
    data, positive = small_set(2), torch.tensor([0.1, 0.2])
    rows = [[NEGATIVE], [Negative("a", 1, 2, score=0.2, truth=True), Negative("b", 1, 2, score=0.1)]]
    source = analysis.SyntheticNegatives(data, "whole_set", (0, 2), rows, positive, PlainModel())
    nothing = analysis.SyntheticNegatives(data, "tags", (0, 2), [[], []], positive, PlainModel())
    example = plots.Example.of({"set": source, "generated": nothing}, 1)
    names, sentences, scores = zip(*example.rows, strict=True)
    assert names == ("caption", "set") and scores == pytest.approx((0.2, 0.2))
    assert sentences[0].sentence == data.captions[2] and sentences[1] == rows[1][0]
    pairs = plots.Pairs.of(source)
    assert np.allclose(pairs.negative, [0.7, 0.2]) and pairs.truth_labels.tolist() == [0, 1]
