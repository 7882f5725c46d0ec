"""ITContrast (Wu et al. 2023): one anchor's kernel memories, sweeps, InfoCMR's terms, their figures and explorer."""

from .explorer import explore_kernel_memory
from .figures import draw_hardness, draw_kernel_memory, draw_prototypes
from .memory import MadeOf, Recollection, SynthesisBatch, made_of, recollect, synthesis_batch
from .sweeps import (
    Curve,
    MemorySweep,
    Terms,
    hardness,
    memory_sweep,
    shares_by_temperature,
    term_names,
    terms,
    true_prototypes,
)
from .tables import (
    draw_contrast_gains,
    draw_contrast_table,
    draw_denominator_shares,
    draw_info_cmr_terms,
    draw_memory_sweep,
)

__all__ = [
    "Curve", "MadeOf", "MemorySweep", "Recollection", "SynthesisBatch", "Terms", "draw_contrast_gains",
    "draw_contrast_table", "draw_denominator_shares", "draw_hardness", "draw_info_cmr_terms", "draw_kernel_memory",
    "draw_memory_sweep", "draw_prototypes", "explore_kernel_memory", "hardness", "made_of", "memory_sweep",
    "recollect", "shares_by_temperature", "synthesis_batch", "term_names", "terms", "true_prototypes",
]  # fmt: skip
