"""ITContrast (Wu et al. 2023): one anchor's kernel memories, sweeps, InfoCMR's terms, their figures and explorer."""

import lazy_loader as lazy

_NAMES = {  # file -> what it is known for, imported when first asked for
    "explorer": "explore_kernel_memory",
    "figures": "draw_hardness draw_itcontrast draw_kernel_memory draw_prototypes",
    "memory": "Attribution ReadOut SynthesisBatch attribution read_out synthesis_batch",
    "sweeps": "Curve MemorySweep Terms hardness memory_sweep shares_by_temperature term_names terms true_prototypes",
    "tables": ("draw_contrast_gains draw_contrast_table draw_denominator_shares draw_info_cmr_terms draw_memory_sweep"),
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})
