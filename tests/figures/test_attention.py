"""Rows of attention maps."""

import numpy as np

from itmlab.explain import AttentionMap
from itmlab.figures import attention_maps


def maps(picture, words):
    return [AttentionMap(np.eye(4), word, picture) for word in words]


def test_one_row_a_checkpoint_one_column_a_word(pictures):
    rows = {"w/o FNE": maps(pictures[0], ["dog", "<b>"]), "FNE": maps(pictures[0], ["dog", "<b>"])}
    figure = attention_maps(rows, title="t")
    assert len(figure.layout.images) == 2 * 3
    assert [a.text for a in figure.layout.annotations][:3] == ["<b>w/o FNE</b>", "dog", "&lt;b&gt;"]
    assert len({image.y for image in figure.layout.images}) == 2


def test_a_long_sentence_is_broken_into_lines_below_each_other(pictures):
    figure = attention_maps({"FNE": maps(pictures[0], list("abcdefghijk"))}, title="t")
    assert len({image.y for image in figure.layout.images}) == 3
    lowest = max(image.y + image.sizey for image in figure.layout.images)
    assert lowest <= figure.layout.yaxis.range[0]


def test_an_outline_changes_only_its_own_word(pictures):
    rows = {"FNE": maps(pictures[0], ["dog", "cat"])}
    plain = attention_maps(rows, title="t")
    mask = np.zeros((32, 32), dtype=bool)
    mask[8:20, 8:20] = True
    marked = attention_maps(rows, title="t", outlines=[None, mask])
    differs = [a.source != b.source for a, b in zip(plain.layout.images, marked.layout.images, strict=True)]
    assert differs == [False, False, True]


def test_a_sentence_without_words_is_a_figure(pictures):
    assert not attention_maps({"FNE": []}, title="t").layout.images
