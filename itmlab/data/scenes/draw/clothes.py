"""What people wear, drawn on their joints; each garment leaves its own marks."""

from collections.abc import Mapping

from ..kinds import COLOURS
from ..scene import Thing
from .body import Body
from .canvas import Colour, Pen, darker, lighter

Worn = Mapping[str, tuple[int, Thing]]


def weave(garment: Thing) -> tuple[str, Colour] | None:
    """The pattern over a thing's colour, if it has one."""
    return (garment.pattern, COLOURS[garment.second]) if garment.pattern and garment.second else None


def draw_torso(pen: Pen, joints: Body, worn: Worn, child: bool) -> None:
    """Shirt, dress or coat over the trunk."""
    (sx, sy), (hx, hy) = joints.shoulder, joints.hip
    half, waist = (0.13, 0.12) if child else (0.125, 0.105)
    kind = next(kind for kind in ("coat", "dress", "shirt") if kind in worn)
    mark, garment = worn[kind]
    colour = COLOURS[garment.colour]
    top = [(sx - half * 0.72, sy + 0.03), (sx + half * 0.72, sy + 0.03), (sx + half, sy - 0.04)]
    if kind == "dress":
        hem, flare = max(hy - 0.2, 0.08), 0.2 if child else 0.185
        low = [
            (hx + waist * 0.85, hy + 0.09),
            (hx + flare, hem),
            (hx, hem - 0.015),
            (hx - flare, hem),
            (hx - waist * 0.85, hy + 0.09),
        ]
    else:
        hem = hy - (0.1 if kind == "coat" else 0.03)
        wide = waist * (1.22 if kind == "coat" else 1.0)
        low = [(hx + wide, hem), (hx - wide, hem)]
    pen.polygon([*top, *low, (sx - half, sy - 0.04)], colour, pattern=weave(garment), mark=mark)
    if kind == "coat":
        pen.limb([(sx + 0.02, sy), (hx + 0.02, hem + 0.02)], 0.014, darker(colour, 0.35), rim=False, mark=mark)
        for step in (0.25, 0.5, 0.75):
            x, y = sx + 0.045 + (hx - sx) * step, sy + (hy - sy) * step
            pen.ellipse(x, y, 0.012, 0.012, lighter(colour, 0.6), rim=False, mark=mark)


def draw_scarf(pen: Pen, joints: Body, mark: int, garment: Thing) -> None:
    """A scarf around the neck with one end hanging."""
    x, y = joints.neck
    colour = COLOURS[garment.colour]
    r = joints.radius
    pen.limb(
        [(x + r * 0.5, y - 0.01), (x + r * 0.62, y - 0.16)],
        0.06,
        darker(colour, 0.1),
        pattern=weave(garment),
        mark=mark,
    )
    pen.ellipse(x, y + 0.005, r * 0.95, 0.042, colour, mark=mark)


def draw_hat(pen: Pen, joints: Body, mark: int, garment: Thing, *, brim: bool) -> None:
    """A hat with a brim all around, or a cap with a peak."""
    x, y = joints.head
    r = joints.radius
    colour = COLOURS[garment.colour]
    if brim:
        crown = [(-0.72, 0.5), (0.78, 0.5), (0.62, 1.3), (-0.56, 1.3)]
        pen.polygon([(x + r * a, y + r * b) for a, b in crown], colour, mark=mark)
        pen.ellipse(x + r * 0.03, y + r * 0.52, r * 1.4, r * 0.2, darker(colour, 0.1), mark=mark)
        pen.box(x - r * 0.7, y + r * 0.62, x + r * 0.76, y + r * 0.82, darker(colour, 0.45), rim=False, mark=mark)
    else:
        crown = [(-1.0, 0.3), (-0.9, 0.95), (-0.3, 1.28), (0.4, 1.2), (0.95, 0.75), (0.95, 0.36), (0.0, 0.4)]
        pen.polygon([(x + r * a, y + r * b) for a, b in crown], colour, mark=mark)
        pen.ellipse(x + r * 1.05, y + r * 0.42, r * 0.62, r * 0.14, darker(colour, 0.2), angle=-6, mark=mark)


def draw_backpack(pen: Pen, joints: Body, mark: int, garment: Thing) -> None:
    """A backpack behind the trunk."""
    (x, y), colour = joints.shoulder, COLOURS[garment.colour]
    pen.box(x - 0.24, y - 0.27, x - 0.02, y + 0.03, colour, round=0.06, mark=mark)
    pen.box(x - 0.25, y - 0.25, x - 0.1, y - 0.13, darker(colour, 0.25), round=0.03, mark=mark)
