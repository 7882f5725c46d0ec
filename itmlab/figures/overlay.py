"""Arrays painted over a picture: heat from a map of weights, outlines and tints from masks of pixels."""

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray
from PIL import Image
from plotly.colors import get_colorscale, hex_to_rgb, validate_colors


def heat(picture: Image.Image, weights: Float[ndarray, "row column"], *, size: int = 288) -> Image.Image:
    """`picture` under the colours of `weights`: the lowest leave it grey and dim, the highest glow.

    The weights are stretched to [0, 1] (all equal: no heat at all) and enlarged bilinearly; `size` is the longer side
    in pixels.
    """
    base = enlarged(picture, size)
    weights = np.asarray(weights, dtype=np.float32)
    span = float(weights.max() - weights.min())
    level = (weights - weights.min()) / span if span > 0 else np.zeros_like(weights)
    smooth = Image.fromarray(level.astype(np.float32)).resize(base.size, Image.Resampling.BILINEAR)
    level = np.clip(np.asarray(smooth), 0, 1)[..., None]
    pixels = np.asarray(base, dtype=np.float32)
    grey = pixels.mean(axis=2, keepdims=True) * 0.55 + pixels * 0.25 + 30
    opacity = 0.15 + 0.6 * level
    return Image.fromarray(((1 - opacity) * grey + opacity * _ramp(level[..., 0])).clip(0, 255).astype(np.uint8))


def outlined(picture: Image.Image, mask: Bool[ndarray, "height width"], colour: str, *, rim: bool) -> Image.Image:
    """`picture` with the border of `mask` (any resolution) drawn on it in `colour`, on request with a dark rim."""
    inside = np.asarray(Image.fromarray(np.asarray(mask)).resize(picture.size, Image.Resampling.NEAREST))
    pixels = np.asarray(picture.convert("RGB")).copy()
    if rim:
        pixels[_border(inside, 3)] = (25, 28, 33)
    pixels[_border(inside, 2)] = hex_to_rgb(colour)
    return Image.fromarray(pixels)


def tinted(picture: Image.Image, mask: Bool[ndarray, "height width"], colour: str, opacity: float) -> Image.Image:
    """`picture` with the pixels of `mask` (any resolution) tinted in `colour`."""
    inside = np.asarray(Image.fromarray(np.asarray(mask)).resize(picture.size, Image.Resampling.NEAREST))[..., None]
    pixels = np.asarray(picture.convert("RGB"), dtype=np.float32)
    tint = (1 - opacity) * pixels + opacity * np.array(hex_to_rgb(colour), dtype=np.float32)
    return Image.fromarray(np.where(inside, tint, pixels).astype(np.uint8))


def enlarged(picture: Image.Image, size: int) -> Image.Image:
    """`picture` as RGB with its longer side `size` pixels."""
    scale = size / max(picture.size)
    shape = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture.convert("RGB").resize(shape, Image.Resampling.BICUBIC)


def _border(inside: Bool[ndarray, "height width"], thickness: int) -> Bool[ndarray, "height width"]:
    """Pixels of the mask nearer than `thickness` to its outside, the picture's edge counted as outside."""
    core = np.pad(inside, 1)
    for _ in range(thickness):
        core[1:-1, 1:-1] &= core[:-2, 1:-1] & core[2:, 1:-1] & core[1:-1, :-2] & core[1:-1, 2:]
    return inside & ~core[1:-1, 1:-1]


def _ramp(level: Float[ndarray, "height width"]) -> Float[ndarray, "height width 3"]:
    """Levels in [0, 1] as RGB (0 to 255) along Inferno, which stays ordered in grey and for colour-blind eyes."""
    scale = get_colorscale("Inferno")
    stops = np.array([stop for stop, _ in scale])
    colours = np.array(validate_colors([name for _, name in scale], "tuple")) * 255
    return np.stack([np.interp(level, stops, colours[:, channel]) for channel in range(3)], axis=-1)
