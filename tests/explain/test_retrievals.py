"""Queries of a split and typed ones, ranked by several models."""

import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.explain import retrievals
from itmlab.metrics import cider_matrix
from itmlab.models import TwoTowerConfig, build_model

from .small_retrievals import small_retrievals
from .small_world import small_set


@pytest.fixture(scope="module")
def found():
    return small_retrievals()


@pytest.mark.parametrize(("direction", "of"), [("t2i", "of_caption"), ("i2t", "of_picture")])
def test_queries_won_are_those_answered_first_that_the_other_has_not_among_its_k(found, direction, of):
    rank = getattr(found, of)
    queries = range(32 if direction == "t2i" else 16)
    expected = [
        query for query in queries if rank("a", query, k=1).annotated[0] and not rank("b", query, k=3).annotated.any()
    ]
    assert found.won("a", "b", direction, k=3).tolist() == expected and len(expected) < len(queries)
    assert not len(found.won("a", "a", direction))


def test_relevance_is_cider_with_each_pictures_captions(found):
    data = found.data
    references = [[data.captions[caption] for caption in own.tolist()] for own in data.captions_of_image]
    assert torch.allclose(found.relevance["CIDEr"], cider_matrix(data.captions, references).T.float())
    assert found.similarity["a"].shape == found.relevance["CIDEr"].shape == found.truth.shape == (16, 32)


def test_it_says_what_it_holds(found):
    assert repr(found) == "Retrievals(squares: a, b; by CIDEr)"


def test_captions_rank_pictures_and_pictures_rank_captions(found):
    by_caption, by_picture = found.of_caption("a", 5, k=16), found.of_picture("a", 2, k=32)
    assert by_caption.index.tolist() == found.similarity["a"][:, 5].sort(descending=True, stable=True).indices.tolist()
    assert by_caption.annotated[by_caption.index == 2].item() and by_caption.annotated.sum() == 1
    assert by_picture.annotated.sum() == 2 and sorted(by_picture.index[by_picture.annotated].tolist()) == [4, 5]
    assert by_picture.best == pytest.approx(found.relevance["CIDEr"][2].max().item())


def test_a_caption_typed_ranks_as_the_caption_itself(found):
    typed, own = found.of_sentence("b", found.data.captions[8], k=8), found.of_caption("b", 8, k=8)
    assert typed.index.tolist() == own.index.tolist()
    assert typed.relevance == pytest.approx(own.relevance, abs=1e-5) and typed.annotated is None


def test_the_world_judges_what_is_typed_where_it_can_read_it(found):
    red = found.of_sentence("a", "something red", k=16)
    assert red.verdict.tolist() == [int(image % 4 == 0) for image in red.index.tolist()]
    assert found.of_sentence("a", "colourless", k=3).verdict is None


def test_an_empty_sentence_and_an_unknown_relevance_are_refused(found):
    with pytest.raises(ItmlabError, match="empty"):
        found.of_sentence("a", " ")
    with pytest.raises(ItmlabError, match="CIDEr, SPICE"):
        retrievals({}, found.data, by=("BLEU",))


class Together(torch.nn.Module):
    """A model that scores pairs only together: brightness times length."""

    def prepare_images(self, pictures):
        return torch.tensor([float(sum(picture.resize((1, 1)).getpixel((0, 0)))) for picture in pictures])

    def prepare_captions(self, captions):
        return torch.tensor([float(len(caption)) for caption in captions])

    def similarity(self, images, captions):
        return images[:, None] * captions[None, :]


def test_models_that_only_score_pairs_together_take_sentences_too():
    data = small_set(6)
    found = retrievals({"together": Together()}, data, by=("CIDEr",))
    typed, own = found.of_sentence("together", data.captions[3], k=6), found.of_caption("together", 3, k=6)
    assert typed.index.tolist() == own.index.tolist()


def test_without_a_world_there_are_no_verdicts():
    data = small_set(6)
    data.world = None
    model = build_model(TwoTowerConfig.tiny(), data.captions, seed=0)
    found = retrievals({"one": model}, data, by=("CIDEr",))
    assert found.truth is None and found.of_caption("one", 0).verdict is None
    assert found.of_sentence("one", "a red square").verdict is None
