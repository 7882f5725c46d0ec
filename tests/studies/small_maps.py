"""Maps of coloured squares by models that have learnt nothing."""

from itmlab.models import DualEncoderConfig, build_model
from itmlab.studies.maps.embeddings import Embedded, embedded
from tests.studies.small_world import small_set


def small_maps() -> dict[str, Embedded]:
    """Two models' maps of `small_set()`."""
    data = small_set()
    models = {name: build_model(DualEncoderConfig.tiny(), data.captions, seed=seed) for seed, name in enumerate("ab")}
    return embedded(models, data, perplexity=5, cache=False)
