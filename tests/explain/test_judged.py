"""People's ratings against φ, in each reading of one pair's NCS."""

import torch

from itmlab.data.crisscrossed import Ratings
from itmlab.explain import judged_by_people
from itmlab.metrics import cider_matrix, pearson

from .small_world import small_set


def test_each_reading_is_the_correlation_of_its_own_values():
    data = small_set(6)
    captions, images = torch.arange(12).repeat(2), torch.cat([data.image_of_caption, (data.image_of_caption + 1) % 6])
    scores = torch.linspace(5, 0, 24) + 0.1 * torch.randn(24, generator=torch.Generator().manual_seed(0))
    tables = judged_by_people(data, Ratings(captions, images, scores.clamp(0, 5)))
    references = [[data.captions[caption] for caption in own.tolist()] for own in data.captions_of_image]
    phi = cider_matrix(data.captions, references)
    left_out = cider_matrix(
        data.captions, references, image_of_caption=data.image_of_caption.tolist(), leave_one_out=True
    )
    wanted = {
        "φ itself": phi,
        "φ / the picture's largest": phi / phi.amax(dim=0, keepdim=True),
        "φ / the caption's largest": phi / phi.amax(dim=1, keepdim=True),
        "φ, caption not among its references": left_out,
    }
    assert list(tables) == list(wanted)
    for reading, matrix in wanted.items():
        expected = pearson(matrix[captions, images], scores.clamp(0, 5), images)
        assert abs(tables[reading]["NCS with CIDEr"]["all"].value - expected.value) < 1e-6
        assert tables[reading]["NCS with SPICE"]["all"].pairs == 24
        assert tables[reading]["NCS with CIDEr"]["non-ground-truth"].pairs == 12
