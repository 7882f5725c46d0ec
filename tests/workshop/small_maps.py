"""Maps of coloured squares by models that have learnt nothing."""

from workshop.analysis.embeddings import Embedded, embedded

from itmlab.models import DualEncoderConfig, build_model
from tests.workshop.small_world import small_set


def small_maps() -> dict[str, Embedded]:
    """Two models' maps of `small_set()`."""
    data = small_set()
    models = {name: build_model(DualEncoderConfig.tiny(), data.captions, seed=seed) for seed, name in enumerate("ab")}
    return embedded(models, data)
