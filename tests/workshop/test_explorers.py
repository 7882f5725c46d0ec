"""The explorers of false negatives and kernel memories follow their controls."""

import pytest
from workshop import analysis, explore

from itmlab.data.captionset import CaptionSet
from tests.refusals import refused
from tests.workshop.conftest import ColourModel
from tests.workshop.small_world import small_set
from tests.workshop.synthetic import synthetic_study


def test_the_explorers_follow_their_controls() -> None:
    from tests.workshop.reading import controls, opened

    def words(explorer):
        return "".join(str(figure.to_plotly_json()) for figure in explorer.shown)

    def moved(explorer, **values):
        """Set every control in turn; the figures that are then shown, as text."""
        opened(explorer)
        for name, value in values.items():
            controls(explorer)[name.replace("_", " ")].value = value
        return words(explorer)

    shown = moved(explore.explore_false_negatives(synthetic_study(24)), preset="released", prior_p=0.1, picture=20)
    assert "p = 0.1, λ = 0.001" in shown and "image 20" in shown

    memories = explore.explore_kernel_memory(ColourModel(), small_set(16), anchor=3, pairs=12)
    before = moved(memories)
    controls(memories)["width σ"].value = 1.0
    after = words(memories)
    assert before != after and "σ = 1, m = 8" in after
    assert "identity; a colour a cluster" in moved(memories, anchor=5, weights="identity")


@pytest.mark.parametrize("explored", ["explore_attention", "explore", "explore_kernel_memory", "study"])
def test_an_image_without_a_caption_is_named(explored) -> None:
    data = small_set(4)
    without = CaptionSet(
        name=data.name,
        images=data.images,
        image_ids=data.image_ids,
        captions=data.captions[:1],
        caption_ids=data.caption_ids[:1],
        image_of_caption=data.image_of_caption[:1],
        splits={},
    )
    call = {
        "explore_attention": lambda: explore.explore_attention({}, without),
        "explore": lambda: explore({}, without),
        "explore_kernel_memory": lambda: analysis.synthesis_batch(None, without),
        "study": lambda: analysis.study(None, without),
    }[explored]
    refused("3 of 4 have no positive, the first is image 1", call)
