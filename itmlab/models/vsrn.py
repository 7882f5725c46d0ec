"""VSRN: regions that reason over each other in a graph and are then read one by one."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from .encoded import Encoded, unit
from .fragment_config import FragmentConfig
from .fragment_encoders import RegionMap, masked_units, run_recurrent


class VsrnImages(nn.Module):
    """Images of VSRN (Li et al., "Visual Semantic Reasoning for Image-Text Matching", ICCV 2019).

    `local`, the regions V* after the graph, is what its `CaptionWriter` reads as well. Regions have unit length before
    the graph and after it (over their own numbers: the released code's runs over the regions by mistake), and keep
    their order.
    """

    def __init__(self, config: FragmentConfig):
        super().__init__()
        self.map = RegionMap(config)
        self.graph = nn.ModuleList(RegionGraph(config.dimension) for _ in range(config.graph_layers))
        self.network = nn.GRU(config.dimension, config.dimension, batch_first=True)

    def forward(
        self, regions: Float[Tensor, "image region feature"], region_mask: Bool[Tensor, "image region"]
    ) -> Encoded:
        local = masked_units(self.map(regions).float(), region_mask)
        for layer in self.graph:
            local = layer(local, region_mask)
        local = masked_units(local, region_mask)
        _, last = run_recurrent(self.network, local, region_mask.sum(1))
        return Encoded(unit(last), local, region_mask)


class RegionGraph(nn.Module):
    """V* = W_r(R V W_g) + V with R_ij = φ(v_i)ᵀϕ(v_j), each row divided by the number of regions (Sec. 3.2).

    W_r starts at zero, so a fresh graph changes nothing. No batch normalisation: an image is encoded alike in all
    company.
    """

    def __init__(self, dimension: int):
        super().__init__()
        self.one, self.other, self.value, self.residual = (nn.Linear(dimension, dimension) for _ in range(4))
        nn.init.zeros_(self.residual.weight)
        nn.init.zeros_(self.residual.bias)

    def forward(
        self, local: Float[Tensor, "image region dimension"], mask: Bool[Tensor, "image region"]
    ) -> Float[Tensor, "image region dimension"]:
        real = mask.unsqueeze(-1)
        affinity = self.one(local) @ self.other(local).transpose(1, 2) / real.sum(dim=1, keepdim=True)
        return self.residual(affinity @ self.value(local).masked_fill(~real, 0.0)) + local
