"""Backgrounds: sky, ground and scenery of each setting, with soft gradients.

Every chance in the scenery comes from one stream whose seed is the scene's shade; the order of draws is the picture.
"""

import random
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw

from ..scene import GROUNDS, SETTINGS, Scene
from .canvas import Canvas, Colour, darker, lighter, mix


def paint_setting(canvas: Canvas, scene: Scene, marks: dict[str, int], bands: list[tuple[str, float, float]]) -> None:
    """Fill the canvas with stripes of stuff and the scenery of the setting.

    Args:
        canvas: what is painted on.
        scene: whose setting it is.
        marks: the mark of each stuff.
        bands: stuff, top and bottom of each stripe, in picture heights.
    """
    pixels = canvas.pixels
    column = np.zeros((pixels, 3), dtype=np.float32)
    for stuff, top, bottom in bands:
        first, last = SETTINGS[scene.setting].sky if stuff in ("sky", "wall") else GROUNDS[stuff]
        rows = slice(round(top * pixels), round(bottom * pixels))
        share = np.linspace(0, 1, rows.stop - rows.start, dtype=np.float32)[:, None]
        column[rows] = np.asarray(first, np.float32) * (1 - share) + np.asarray(last, np.float32) * share
        canvas.mark.rectangle((0, rows.start, pixels, rows.stop), fill=marks[stuff])
    rows = np.broadcast_to(column.astype(np.uint8)[:, None], (pixels, pixels, 3))
    canvas.picture.paste(Image.fromarray(np.ascontiguousarray(rows)))
    brush = Brush(canvas, random.Random(int(scene.shade * 1e9)), scene.horizon)
    _SCENERY[scene.setting](brush)


class Brush:
    """Paints scenery in picture heights; scenery is part of the sky or ground and leaves no marks."""

    def __init__(self, canvas: Canvas, dice: random.Random, horizon: float):
        self.draw: ImageDraw.ImageDraw = canvas.draw
        self.glaze = canvas.glaze
        self.pixels, self.dice, self.horizon = canvas.pixels, dice, horizon

    def ellipse(self, x: float, y: float, wide: float, high: float, colour: tuple) -> None:
        """Draw an ellipse with the radii `wide` and `high`; a fourth number in a colour is its opacity."""
        p = self.pixels
        self._on(colour).ellipse(((x - wide) * p, (y - high) * p, (x + wide) * p, (y + high) * p), fill=colour)

    def polygon(self, points: list[tuple[float, float]], colour: tuple) -> None:
        """Draw a filled polygon."""
        self._on(colour).polygon([(x * self.pixels, y * self.pixels) for x, y in points], fill=colour)

    def box(self, x0: float, y0: float, x1: float, y1: float, colour: tuple) -> None:
        """Draw an upright box."""
        self.polygon([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], colour)

    def _on(self, colour: tuple) -> ImageDraw.ImageDraw:
        return self.glaze if len(colour) == 4 else self.draw

    def sun(self) -> None:
        """Draw the sun with a glow, somewhere high."""
        x, y = self.dice.uniform(0.1, 0.9), self.dice.uniform(0.08, 0.16)
        for r, strength in ((0.13, 40), (0.1, 70), (0.065, 255)):
            self.ellipse(x, y, r, r, (255, 240, 170, strength))

    def clouds(self, count: int, colour: Colour = (255, 255, 255)) -> None:
        """Draw so many clouds."""
        for _ in range(count):
            x, y, r = self.dice.random(), self.dice.uniform(0.06, 0.26), self.dice.uniform(0.035, 0.06)
            for a, b, c in ((-1.5, 0.3, 0.8), (0, 0, 1.1), (1.4, 0.3, 0.85), (0.6, 0.4, 1.0)):
                self.ellipse(x + a * r, y + b * r, c * r * 1.2, c * r * 0.75, (*colour, 190))

    def hills(self, colour: Colour, high: float, count: int = 3) -> None:
        """Draw hills of a height along the horizon."""
        for hill in range(count):
            x, wide = (hill + self.dice.random()) / count, self.dice.uniform(0.28, 0.45)
            self.ellipse(x, self.horizon + 0.02, wide, high * self.dice.uniform(0.6, 1.0), colour)

    def ground(self, colour: Colour) -> None:
        """Draw the ground again below the horizon, over hills that reach into it."""
        self.box(0, self.horizon, 1, self.horizon + 0.1, colour)

    def tufts(self, colour: tuple, count: int, top: float, wide: float = 0.03, high: float = 0.008) -> None:
        """Draw so many tufts of grass below `top`."""
        for _ in range(count):
            y = self.dice.uniform(top + 0.03, 0.99)
            grow = 0.5 + y
            self.ellipse(self.dice.random(), y, wide * grow, high * grow, colour)

    def fir(self, x: float, base: float, high: float, colour: Colour) -> None:
        """Draw a fir of three triangles."""
        for share, wide in ((0.0, 0.3), (0.3, 0.23), (0.55, 0.16)):
            y = base - high * share
            self.polygon([(x - wide * high, y), (x + wide * high, y), (x, y - high * 0.5)], colour)


def _park(brush: Brush) -> None:
    brush.sun() if brush.dice.random() < 0.5 else brush.clouds(2)
    for step in range(7):
        x, r = step / 6 + brush.dice.uniform(-0.06, 0.06), brush.dice.uniform(0.07, 0.12)
        leaves = mix((130, 186, 130), (190, 220, 190), brush.dice.random())
        brush.ellipse(x, brush.horizon - r * 0.35, r, r * 0.85, leaves)
    brush.ground((172, 214, 132))
    x, far = brush.dice.uniform(0.2, 0.8), brush.horizon
    brush.polygon([(x - 0.03, far), (x + 0.03, far), (x + 0.34, 1), (x - 0.1, 1)], (232, 218, 186, 150))
    brush.tufts((110, 170, 90, 90), 14, brush.horizon)


def _beach(brush: Brush) -> None:
    brush.sun()
    brush.clouds(1)
    shore = brush.horizon + 0.16
    for _ in range(9):
        y = brush.dice.uniform(brush.horizon + 0.015, shore - 0.02)
        brush.ellipse(brush.dice.random(), y, 0.07, 0.005, (230, 246, 252, 170))
    brush.box(0, shore - 0.016, 1, shore + 0.004, (250, 252, 252, 210))
    brush.box(0, shore + 0.004, 1, shore + 0.03, (206, 184, 136, 120))
    brush.tufts((214, 184, 124, 120), 16, shore)


def _street(brush: Brush) -> None:
    x = -0.05
    while x < 1.05:
        wide, high = brush.dice.uniform(0.14, 0.24), brush.dice.uniform(0.16, 0.36)
        wall = brush.dice.choice(((206, 190, 180), (190, 196, 206), (214, 204, 186), (186, 180, 190), (204, 188, 196)))
        top = max(brush.horizon - high, 0.03)
        brush.box(x, top, x + wide, brush.horizon, wall)
        brush.box(x, top, x + wide, top + 0.015, darker(wall, 0.2))
        for row in range(int((high - 0.05) / 0.075)):
            for window in range(2):
                left = x + wide * (0.18 + 0.4 * window)
                brush.box(left, top + 0.04 + row * 0.075, left + wide * 0.22, top + 0.08 + row * 0.075, (232, 236, 226))
        x += wide + 0.005
    brush.box(0, brush.horizon, 1, brush.horizon + 0.07, (206, 202, 198))
    brush.box(0, brush.horizon + 0.065, 1, brush.horizon + 0.08, (150, 148, 150))
    for step in range(4):
        x = step * 0.3 + brush.dice.uniform(-0.02, 0.02)
        brush.polygon([(x, 0.86), (x + 0.15, 0.86), (x + 0.14, 0.885), (x - 0.02, 0.885)], (240, 236, 214, 200))


def _winter(brush: Brush) -> None:
    brush.hills((226, 234, 246), 0.14)
    for _ in range(6):
        brush.fir(brush.dice.random(), brush.horizon + 0.02, brush.dice.uniform(0.14, 0.24), (134, 166, 168))
    brush.ground((240, 245, 252))
    brush.tufts((196, 210, 234, 120), 10, brush.horizon, 0.06, 0.01)
    for _ in range(40):
        brush.ellipse(brush.dice.random(), brush.dice.random(), 0.006, 0.006, (255, 255, 255))


def _field(brush: Brush) -> None:
    brush.clouds(3)
    brush.hills((168, 206, 146), 0.15)
    brush.hills((188, 216, 150), 0.09, 2)
    brush.ground((180, 216, 130))
    for step in range(5):
        y = brush.horizon + 0.06 + step * 0.09
        brush.box(0, y, 1, y + 0.02 + step * 0.006, (206, 222, 126, 90))
    for _ in range(16):
        x, y = brush.dice.random(), brush.dice.uniform(brush.horizon + 0.06, 0.98)
        brush.ellipse(x, y, 0.007, 0.006, brush.dice.choice(((255, 250, 240), (250, 226, 120), (240, 180, 200))))


def _forest(brush: Brush) -> None:
    for layer, colour in enumerate(((176, 206, 178), (132, 176, 138), (98, 146, 108))):
        for step in range(6):
            x = (step + brush.dice.random()) / 6
            brush.fir(x, brush.horizon + 0.01 + 0.015 * layer, brush.dice.uniform(0.34, 0.5) - 0.06 * layer, colour)
    brush.ground((140, 184, 116))
    brush.tufts((96, 146, 84, 110), 22, brush.horizon)


def _desert(brush: Brush) -> None:
    brush.sun()
    brush.hills((240, 206, 148), 0.12)
    brush.hills((232, 192, 128), 0.07, 2)
    brush.ground((244, 218, 162))
    for _ in range(2):
        x, base = brush.dice.random(), brush.horizon + 0.04
        for a, b, c, d in ((0, 0, 0.014, 0.14), (-0.035, -0.05, 0.009, 0.05), (0.035, -0.07, 0.009, 0.05)):
            brush.box(x + a - c, base + b - d, x + a + c, base + b, (126, 160, 104))
        brush.box(x - 0.035, base - 0.06, x + 0.035, base - 0.045, (126, 160, 104))
    brush.tufts((222, 186, 120, 130), 12, brush.horizon, 0.09, 0.008)


def _lake(brush: Brush) -> None:
    brush.sun()
    brush.hills((150, 190, 160), 0.13)
    brush.hills((120, 170, 136), 0.07, 2)
    brush.box(0, brush.horizon, 1, brush.horizon + 0.1, (132, 198, 228))
    for _ in range(16):
        y = brush.dice.uniform(brush.horizon + 0.03, 0.78)
        brush.ellipse(brush.dice.random(), y, 0.06, 0.005, (222, 240, 248, 160))
    for _ in range(5):
        x = brush.dice.random()
        for lean in (-0.02, 0.0, 0.02):
            brush.polygon([(x - 0.005, 0.84), (x + 0.005, 0.84), (x + lean, 0.74)], (104, 156, 92))
    brush.tufts((104, 162, 86, 110), 8, 0.82)


def _room(brush: Brush) -> None:
    tint = brush.dice.choice(((244, 226, 204), (214, 228, 238), (226, 236, 214), (242, 218, 218), (232, 224, 240)))
    brush.box(0, 0, 1, brush.horizon, tint)
    for step in range(6):
        brush.box(step * 0.18, 0, step * 0.18 + 0.09, brush.horizon, (*lighter(tint, 0.35), 110))
    brush.box(0, brush.horizon - 0.03, 1, brush.horizon, (252, 248, 242))
    x = brush.dice.uniform(0.08, 0.66)
    brush.box(x - 0.02, 0.07, x + 0.3, 0.36, (252, 250, 246))
    brush.box(x, 0.09, x + 0.135, 0.34, (178, 216, 240))
    brush.box(x + 0.15, 0.09, x + 0.28, 0.34, (178, 216, 240))
    brush.polygon([(x + 0.02, 0.34), (x + 0.09, 0.09), (x + 0.13, 0.09), (x + 0.06, 0.34)], (214, 236, 248))
    for step in range(7):
        top, low = (0.5 + (step / 6 - 0.5) * spread for spread in (0.9, 1.9))
        seam = [(top, brush.horizon), (top + 0.005, brush.horizon), (low + 0.012, 1), (low, 1)]
        brush.polygon(seam, (150, 112, 78, 90))
    rug = brush.dice.choice(((206, 150, 140), (150, 170, 200), (170, 190, 150)))
    brush.ellipse(0.5, 0.88, 0.46, 0.1, (*rug, 150))


def _mountain(brush: Brush) -> None:
    brush.clouds(2)
    dice, foot = brush.dice, brush.horizon
    for step in range(4):
        x, high, wide = step / 3 + dice.uniform(-0.08, 0.08), dice.uniform(0.2, 0.38), dice.uniform(0.2, 0.3)
        top = max(foot - high, 0.04)
        grey = mix((134, 144, 168), (172, 178, 196), dice.random())
        brush.polygon([(x - wide, foot), (x, top), (x + wide, foot)], grey)
        brush.polygon([(x, top), (x + wide, foot), (x + wide * 0.2, foot)], darker(grey, 0.12))
        snow = ((-0.26, 0.26), (0, 0), (0.26, 0.26), (0.08, 0.2), (-0.08, 0.3))
        brush.polygon([(x + wide * a, top + high * b) for a, b in snow], (248, 250, 254))
    brush.box(0, foot, 1, foot + 0.05, (170, 186, 140))
    brush.tufts((140, 134, 122, 130), 14, foot, 0.04, 0.012)


def _kitchen(brush: Brush) -> None:
    """Tiles, cupboards above, a counter with a stove below the window's height."""
    dice, far = brush.dice, brush.horizon
    tint = dice.choice(((206, 226, 232), (232, 222, 200), (214, 228, 206), (236, 214, 206)))
    brush.box(0, 0, 1, far, lighter(tint, 0.45))
    for step in range(1, 14):
        brush.box(step / 14, 0.2, step / 14 + 0.004, far, (*tint, 190))
    for step in range(5):
        brush.box(0, 0.22 + step * 0.065, 1, 0.224 + step * 0.065, (*tint, 190))
    wood = dice.choice(((214, 180, 140), (184, 206, 214), (222, 210, 190)))
    stove = dice.choice((0.0, 0.25, 0.5, 0.75))
    for step in range(4):
        x = step / 4
        if x != stove:
            brush.box(x + 0.008, 0.0, x + 0.242, 0.18, wood)
            brush.box(x + 0.03, 0.02, x + 0.22, 0.155, lighter(wood, 0.2))
        else:  # the hood
            brush.polygon([(x + 0.08, 0), (x + 0.17, 0), (x + 0.24, 0.17), (x + 0.01, 0.17)], (176, 182, 190))
        brush.box(x + 0.008, far - 0.15, x + 0.242, far, (216, 220, 226) if x == stove else darker(wood, 0.06))
        brush.ellipse(x + 0.125, far - 0.11, 0.012, 0.007, (110, 100, 96))
    brush.box(stove + 0.04, far - 0.09, stove + 0.21, far - 0.02, (90, 96, 106))
    brush.box(0, far - 0.175, 1, far - 0.145, (236, 232, 226))
    for step in range(8):
        tile = [(step / 4 - 0.5, 1), (step / 4 - 0.375, 1), (step / 8 + 0.06, far), (step / 8, far)]
        brush.polygon(tile, (255, 250, 240, 70))


def _garden(brush: Brush) -> None:
    """A hedge, rows of beds and a stone path."""
    brush.sun() if brush.dice.random() < 0.6 else brush.clouds(2)
    far = brush.horizon
    for step in range(15):
        brush.ellipse(step / 14, far - 0.035, 0.05, 0.05 + 0.012 * brush.dice.random(), (134, 182, 118))
    brush.box(0, far - 0.03, 1, far + 0.02, (134, 182, 118))
    brush.ground((172, 214, 132))
    for row in range(2):
        y = far + 0.055 + row * 0.075
        brush.box(0, y, 1, y + 0.03, (176, 140, 108, 190))
        for step in range(16):
            x = (step + brush.dice.random() * 0.5) / 16
            brush.ellipse(x, y + 0.004, 0.016, 0.014, (112, 168, 96))
            bloom = brush.dice.choice(((244, 170, 186), (252, 226, 140), (236, 224, 250), (246, 196, 150)))
            brush.ellipse(x, y - 0.008, 0.011, 0.01, bloom)
    for step in range(5):
        x = 0.1 + step * 0.2 + brush.dice.uniform(-0.03, 0.03)
        brush.ellipse(x, 0.9 + brush.dice.uniform(-0.04, 0.05), 0.07, 0.02, (214, 208, 198, 170))
    brush.tufts((110, 170, 90, 90), 10, far + 0.16)


def _playground(brush: Brush) -> None:
    """Swings and a climbing frame far away, a fence of coloured posts, sand."""
    brush.clouds(2)
    far, dice = brush.horizon, brush.dice
    for step in range(22):
        paint = ((238, 150, 140), (244, 214, 130), (150, 196, 226), (158, 206, 150))[step % 4]
        brush.box(step / 22 + 0.006, far - 0.07, step / 22 + 0.03, far, paint)
    brush.box(0, far - 0.05, 1, far - 0.038, (236, 232, 224))
    x = dice.uniform(0.08, 0.3) + dice.choice((0.0, 0.4))
    for a in (0.0, 0.24):
        for lean in (-0.035, 0.035):
            leg = [(x + a, 0.2), (x + a + 0.01, 0.2), (x + a + lean + 0.012, far), (x + a + lean, far)]
            brush.polygon(leg, (206, 120, 110))
    brush.box(x - 0.01, 0.195, x + 0.26, 0.212, (206, 120, 110))
    for a in (0.06, 0.15):
        for b in (0.0, 0.04):
            brush.box(x + a + b, 0.21, x + a + b + 0.004, far - 0.09, (130, 130, 140))
        brush.box(x + a - 0.006, far - 0.095, x + a + 0.05, far - 0.08, (110, 150, 200))
    brush.ground((244, 226, 180))
    brush.tufts((222, 194, 138, 130), 18, far)


def _harbor(brush: Brush) -> None:
    """Warehouses across the water, masts, planks in front."""
    brush.clouds(2)
    far, dice, x = brush.horizon, brush.dice, 0.0
    while x < 1:
        wide, high = dice.uniform(0.12, 0.2), dice.uniform(0.08, 0.15)
        wall = dice.choice(((214, 160, 146), (226, 204, 160), (168, 190, 206), (220, 214, 206)))
        brush.box(x, far - high, x + wide, far, wall)
        brush.polygon([(x, far - high), (x + wide / 2, far - high - 0.05), (x + wide, far - high)], darker(wall, 0.18))
        for share in (0.2, 0.6):
            brush.box(x + wide * share, far - high * 0.7, x + wide * (share + 0.2), far - high * 0.35, (244, 240, 226))
        x += wide + dice.choice((0.0, 0.0, 0.06))
    for _ in range(4):
        x = dice.random()
        brush.box(x, far - 0.12, x + 0.006, far + 0.03, (150, 120, 96))
        hull = [(x - 0.05, far + 0.025), (x + 0.06, far + 0.025), (x + 0.04, far + 0.05), (x - 0.03, far + 0.05)]
        brush.polygon(hull, dice.choice(((236, 236, 232), (196, 120, 110), (120, 150, 190))))
    for _ in range(12):
        brush.ellipse(dice.random(), dice.uniform(far + 0.07, 0.7), 0.06, 0.005, (222, 240, 248, 160))
    brush.box(0, 0.72, 1, 0.74, (120, 92, 68))
    for step in range(13):
        top, low = (0.5 + (step / 12 - 0.5) * spread for spread in (1.2, 1.9))
        brush.polygon([(top, 0.74), (top + 0.005, 0.74), (low + 0.01, 1), (low, 1)], (116, 88, 62, 130))
    for step in range(4):
        x = 0.08 + step * 0.28
        brush.box(x - 0.014, 0.68, x + 0.014, 0.745, (110, 84, 62))


def _station(brush: Brush) -> None:
    """A station's house and roof beyond the rails, and the edge of the platform."""
    far, dice = brush.horizon, brush.dice
    brush.clouds(1)
    wall = dice.choice(((214, 150, 130), (226, 206, 168), (196, 200, 210)))
    brush.box(0.06, 0.17, 0.94, far, wall)
    brush.polygon([(0.0, 0.2), (0.07, 0.1), (0.93, 0.1), (1.0, 0.2)], (128, 136, 150))
    for step in range(5):
        x = 0.12 + step * 0.165
        brush.box(x, 0.25, x + 0.085, far, (120, 90, 76) if step == 2 else (240, 240, 230))
        brush.box(x + 0.008, 0.26, x + 0.077, far - 0.01 if step == 2 else 0.38, (176, 208, 226))
    brush.ellipse(0.5, 0.145, 0.036, 0.036, (250, 250, 246))
    brush.box(0.497, 0.12, 0.503, 0.147, (60, 60, 70))
    brush.box(0.5, 0.142, 0.518, 0.149, (60, 60, 70))
    brush.box(0, far - 0.02, 1, far + 0.015, (190, 188, 186))
    for step in range(20):
        brush.box(step / 20, far + 0.05, step / 20 + 0.022, 0.65, (116, 92, 74))
    for y in (far + 0.075, 0.62):
        brush.box(0, y, 1, y + 0.012, (196, 200, 208))
    brush.box(0, 0.655, 1, 0.68, (240, 214, 120))
    for step in range(9):
        top, low = (0.5 + (step / 8 - 0.5) * spread for spread in (1.1, 1.9))
        brush.polygon([(top, 0.68), (top + 0.004, 0.68), (low + 0.008, 1), (low, 1)], (150, 146, 142, 120))


_SCENERY: dict[str, Callable[[Brush], None]] = {
    drawer.__name__[1:]: drawer
    for drawer in (
        *(_park, _beach, _street, _winter, _field, _forest, _desert, _lake, _room, _mountain),
        *(_kitchen, _garden, _playground, _harbor, _station),
    )
}
