"""ITContrast (Wu et al., 2023): kernel memories, SynHNC over a batch, terms of InfoCMR, and their figures."""

import lazy_loader as lazy

_NAMES = {  # module -> its public names, imported when first used
    "explorer": "explore_kernel_memory",
    "figures": "draw_info_cmr_terms draw_kernel_memory draw_prototypes sweep_curves",
    "memory": "Attribution ReadOut SynthesisBatch attribution read_out synthesis_batch",
    "sweeps": "Curve MemorySweep Terms hardness memory_sweep shares_by_temperature term_names terms true_prototypes",
}
__getattr__, __dir__, __all__ = lazy.attach(
    __name__, submod_attrs={module: names.split() for module, names in _NAMES.items()}
)
