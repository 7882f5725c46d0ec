"""A convolutional patch stem: small vision transformers train better from scratch on early convolutions."""

from jaxtyping import Float
from torch import Tensor, nn

from itmlab.errors import ItmlabError


class ConvolutionalStem(nn.Module):
    """Three strided convolutions in place of ViT's one linear map per patch; the patch grid stays the same.

    Source: Xiao, Singh, Mintun, Darrell, Dollár, Girshick, "Early Convolutions Help Transformers See Better",
    NeurIPS 2021. Normalisation is over each picture's own channels instead of their batch normalisation, so that a
    feature never depends on the other pictures in its batch.
    """

    def __init__(self, patch_size: int, hidden: int):
        super().__init__()
        if patch_size % 4 or patch_size < 8:
            raise ItmlabError(
                f"a convolutional stem cannot make patches of {patch_size} px", remedy="use 8, 12, 16 or 32 px"
            )
        narrow, middle = hidden // 4, hidden // 2
        self.convolutions = nn.Sequential(
            _halving(3, narrow, patch_size // 4), nn.GroupNorm(1, narrow), nn.ReLU(),
            _halving(narrow, middle, 2), nn.GroupNorm(1, middle), nn.ReLU(),
        )  # fmt: skip
        self.projection = _halving(middle, hidden, 2)  # ViTModel looks here for its number type

    def forward(self, pixels: Float[Tensor, "n 3 height width"]) -> Float[Tensor, "n patch hidden"]:
        return self.projection(self.convolutions(pixels)).flatten(2).transpose(1, 2)


def _halving(inputs: int, outputs: int, stride: int) -> nn.Conv2d:
    """A convolution that divides height and width exactly by `stride`, each window reaching one pixel further."""
    return nn.Conv2d(inputs, outputs, kernel_size=stride + 2, stride=stride, padding=1)
