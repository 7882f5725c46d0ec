"""A supersampled picture and, beside it, which thing is seen at each pixel; and the pen that draws on both."""

import math
from collections.abc import Sequence
from itertools import pairwise

from PIL import Image, ImageDraw

Point = tuple[float, float]
Colour = tuple[int, int, int]
CIRCLE = [(math.cos(2 * math.pi * step / 24), math.sin(2 * math.pi * step / 24)) for step in range(24)]
OUTLINE = 0.0065  # of the picture's height


def mix(colour: Colour, other: Colour, share: float) -> Colour:
    """Return `colour` with a `share` of `other` mixed in."""
    return tuple(round(a + (b - a) * share) for a, b in zip(colour, other, strict=True))


def darker(colour: Colour, share: float = 0.25) -> Colour:
    """Return a darker shade of `colour`."""
    return mix(colour, (24, 20, 44), share)


def lighter(colour: Colour, share: float = 0.3) -> Colour:
    """Return a lighter tint of `colour`."""
    return mix(colour, (255, 255, 255), share)


class Canvas:
    """`picture` (RGB) and `marks` (number of the thing seen), both `factor` times the final size."""

    def __init__(self, size: int):
        self.size, self.factor = size, 3 if size <= 192 else 2
        self.pixels = size * self.factor
        self.picture = Image.new("RGB", (self.pixels, self.pixels))
        self.marks = Image.new("L", (self.pixels, self.pixels))
        self.draw = ImageDraw.Draw(self.picture)
        self.mark = ImageDraw.Draw(self.marks)
        self.glaze = ImageDraw.Draw(self.picture, "RGBA")

    def shadow(self, x: float, base: float, half: float) -> None:
        """Draw a soft shadow on the ground under a thing.

        Args:
            x: the middle of the thing.
            base: where it stands.
            half: half the width of the shadow.
        """
        for grow, strength in ((1.12, 26), (0.85, 38)):
            wide, high = half * grow * self.pixels, max(half * grow * 0.16, 0.008) * self.pixels
            x0, y0 = x * self.pixels, base * self.pixels
            self.glaze.ellipse((x0 - wide, y0 - high, x0 + wide, y0 + high), fill=(20, 20, 50, strength))

    def finish(self) -> tuple[Image.Image, Image.Image]:
        """Picture and marks at the final size."""
        marks = self.marks.resize((self.size, self.size), Image.Resampling.NEAREST)
        return self.picture.reduce(self.factor), marks


class Pen:
    """Draws one thing in its own units: x to the right, y up, (0, 0) where it stands, 1 = its height.

    Shapes are kept until `done`, which first draws all their dark rims and then all their fills, so that a thing has
    one outline around it and none inside.
    """

    def __init__(self, canvas: Canvas, x: float, base: float, height: float, flip: bool, mark: int):
        self.canvas, self.mark = canvas, mark
        self.scale = height * canvas.pixels
        self.x, self.y = x * canvas.pixels, base * canvas.pixels
        self.across = -self.scale if flip else self.scale
        self.rim = OUTLINE * canvas.pixels
        self.shapes: list[tuple] = []

    def polygon(
        self,
        points: Sequence[Point],
        colour: Colour,
        *,
        rim: bool = True,
        pattern: tuple[str, Colour] | None = None,
        mark: int | None = None,
    ) -> None:
        """Draw a filled polygon.

        Args:
            points: its corners.
            colour: of the fill.
            rim: whether it has an outline.
            pattern: "striped", "spotted" or "checked" and a colour, drawn over the fill.
            mark: the number that the marks get here, instead of the thing's own.
        """
        x, y, across, scale = self.x, self.y, self.across, self.scale
        placed = [(x + across * a, y - scale * b) for a, b in points]
        self.shapes.append((placed, colour, rim, pattern, self.mark if mark is None else mark))

    def ellipse(self, x: float, y: float, wide: float, high: float, colour: Colour, *, angle: float = 0, **how) -> None:
        """Draw an ellipse.

        Args:
            x: of the middle.
            y: of the middle.
            wide: the horizontal radius.
            high: the vertical radius.
            colour: of the fill.
            angle: degrees by which it is turned counter-clockwise.
        """
        turn, lift = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        points = [(x + wide * a * turn - high * b * lift, y + wide * a * lift + high * b * turn) for a, b in CIRCLE]
        self.polygon(points, colour, **how)

    def box(self, x0: float, y0: float, x1: float, y1: float, colour: Colour, *, round: float = 0, **how) -> None:
        """Draw an upright box whose corners have the radius `round`."""
        if not round:
            return self.polygon([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], colour, **how)
        left, low, right, high = x0 + round, y0 + round, x1 - round, y1 - round
        points, circle = [], (*CIRCLE, CIRCLE[0])
        for corner, (a, b) in enumerate(((right, high), (left, high), (left, low), (right, low))):
            points += [(a + round * x, b + round * y) for x, y in circle[6 * corner : 6 * corner + 7 : 2]]
        self.polygon(points, colour, **how)

    def limb(self, points: Sequence[Point], wide: float, colour: Colour, *, end: float | None = None, **how) -> None:
        """Draw a stroke with round ends along `points`, `wide` thick at its beginning and `end` thick at its end."""
        last, steps = wide if end is None else end, len(points) - 1
        radii = [(wide + (last - wide) * step / steps) / 2 for step in range(steps + 1)]
        for (a, first), (b, second) in pairwise(zip(points, radii, strict=True)):
            angle = math.atan2(b[1] - a[1], b[0] - a[0])
            arc = [angle + math.pi / 2 + math.pi * step / 6 for step in range(7)]
            capsule = [(a[0] + first * math.cos(turn), a[1] + first * math.sin(turn)) for turn in arc]
            capsule += [(b[0] - second * math.cos(turn), b[1] - second * math.sin(turn)) for turn in arc]
            self.polygon(capsule, colour, **how)

    def blob(self, points: Sequence[Point], colour: Colour, **how) -> None:
        """Draw a smooth closed curve through `points`.

        References:
            Catmull and Rom (1974), the uniform spline.
        """
        count, smooth = len(points), []
        for at in range(count):
            p, q, r, s = (points[(at + step - 1) % count] for step in range(4))
            for t in (0.0, 0.25, 0.5, 0.75):
                w0, w1 = t * (-1 + t * (2 - t)) / 2, (2 + t * t * (3 * t - 5)) / 2
                w2, w3 = t * (1 + t * (4 - 3 * t)) / 2, t * t * (t - 1) / 2
                smooth.append(tuple(w0 * p[k] + w1 * q[k] + w2 * r[k] + w3 * s[k] for k in (0, 1)))
        self.polygon(smooth, colour, **how)

    def done(self) -> None:
        """Draw what was kept: rims, then fills."""
        draw, mark = self.canvas.draw, self.canvas.mark
        for points, colour, rim, _, number in self.shapes:
            if rim:
                wider = _grown(points, self.rim)
                draw.polygon(wider, fill=darker(colour, 0.5))
                mark.polygon(wider, fill=number)
        for points, colour, _, pattern, number in self.shapes:
            draw.polygon(points, fill=colour)
            mark.polygon(points, fill=number)
            if pattern is not None:
                self._pattern(points, *pattern)
        self.shapes.clear()

    def _pattern(self, points: list[Point], name: str, colour: Colour) -> None:
        xs, ys = zip(*points, strict=True)
        left, top = int(min(xs)), int(min(ys))
        wide, high = int(max(xs)) - left + 1, int(max(ys)) - top + 1
        shape = Image.new("L", (wide, high))
        ImageDraw.Draw(shape).polygon([(x - left, y - top) for x, y in points], fill=255)
        weave = Image.new("L", (wide, high))
        draw = ImageDraw.Draw(weave)
        step = max(0.042 * self.canvas.pixels, 5.0)
        if name in ("striped", "checked"):
            for row in range(int(high / step) + 1):
                draw.rectangle((0, row * step + step * 0.45, wide, row * step + step * 0.9), fill=255)
            for column in range(int(wide / step) + 1) if name == "checked" else ():
                draw.rectangle((column * step + step * 0.45, 0, column * step + step * 0.9, high), fill=255)
        else:
            dot = step * 0.3
            for row in range(int(high / step) + 2):
                for column in range(int(wide / step) + 2):
                    x, y = (column + 0.5 * (row % 2)) * step, row * step + step * 0.3
                    draw.ellipse((x - dot, y - dot, x + dot, y + dot), fill=255)
        weave.paste(0, (0, 0), Image.eval(shape, lambda value: 255 - value))
        self.canvas.picture.paste(colour, (left, top), weave)


def _grown(points: list[Point], rim: float) -> list[Point]:
    """The polygon a rim wider, every corner moved away from the middle."""
    x, y = (sum(values) / len(points) for values in zip(*points, strict=True))
    grown = []
    for a, b in points:
        length = math.hypot(a - x, b - y) or 1.0
        grown.append((a + (a - x) / length * rim, b + (b - y) / length * rim))
    return grown
