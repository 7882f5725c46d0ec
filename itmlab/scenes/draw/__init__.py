"""A scene drawn: the picture and, for each pixel, which thing is seen there; all things through the same pen."""

from PIL import Image

from ..scene import COLOURS, KINDS, SETTINGS, SHADES, Entity, Scene
from . import animals, things, vehicles, wildlife
from .canvas import Canvas, Pen
from .people import draw_person, hand
from .settings import paint_setting

# the functions `draw_dog`, `draw_cat`, … by kind
DRAWERS = {
    kind: getattr(module, f"draw_{kind}")
    for module in (animals, wildlife, vehicles, things)
    for kind in KINDS
    if hasattr(module, f"draw_{kind}")
}
# no shadow under these
_ALOFT = ("kite", "balloon", "umbrella", "cup", "book", "guitar", "bag", "flower", "boat", "camera", "laptop", "pizza",
          "apple", "banana", "cake", "broom")  # fmt: skip
_ENDS = {"fly": 0.34, "walk": 0.7, "lead": 0.8}  # strings and leashes end this high on the other end
_NECKS = {"dog": 0.33, "horse": 0.36, "cow": 0.42, "elephant": 0.3}


def render(scene: Scene, size: int) -> tuple[Image.Image, Image.Image]:
    """Draw a scene.

    Args:
        scene: what to draw.
        size: pixels a side.

    Returns:
        The RGB picture, and a picture of marks ("L"): each pixel is the number of an object in the scene plus one.
    """
    canvas = Canvas(size)
    marks = {entity.kind: number + 1 for number, entity in enumerate(scene.objects) if entity.category == "stuff"}
    paint_setting(canvas, scene, marks, bands(scene))
    for number, entity in sorted(enumerate(scene.objects), key=lambda entry: entry[1].layer):
        if entity.category not in ("stuff", "place", "worn"):
            _draw(canvas, scene, number, entity)
    for fact in scene.facts:
        if fact.relation in _ENDS:
            who, other = scene.objects[fact.subject], scene.objects[fact.object]
            _line(canvas, who, other, _ENDS[fact.relation], fact.subject + 1)
    return canvas.finish()


def bands(scene: Scene) -> list[tuple[str, float, float]]:
    """Return the stripes of stuff from top to bottom, each as (stuff, top, bottom) in picture heights."""
    setting, horizon = SETTINGS[scene.setting], scene.horizon
    above = setting.around[-1]
    if not setting.shore:
        return [(above, 0.0, horizon), (setting.ground, horizon, 1.0)]
    return [(above, 0.0, horizon), (setting.around[0], horizon, setting.shore), (setting.ground, setting.shore, 1.0)]


def _line(canvas: Canvas, who: Entity, other: Entity, up: float, mark: int) -> None:
    """A string from a person's near hand to the kite or the animal's neck."""
    start = hand(who.kind, who.pose, who.hands, x=who.x, base=who.base, height=who.height, flip=who.flip)
    neck = _NECKS.get(other.kind, 0.0) * other.height
    end = (other.x + (-neck if other.flip else neck), other.base - up * other.height)
    sag = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + 0.02)
    path = [(x * canvas.pixels, y * canvas.pixels) for x, y in (start, sag, end)]
    wide = max(round(0.006 * canvas.pixels), 1)
    canvas.draw.line(path, fill=(70, 56, 56), width=wide)
    canvas.mark.line(path, fill=mark, width=wide)


def _draw(canvas: Canvas, scene: Scene, number: int, entity: Entity) -> None:
    raised = entity.pose in ("fly", "swim", "mount", "cycle", "aboard", "sit", "jump")
    if entity.base > scene.horizon and not raised and entity.kind not in _ALOFT:
        left, _, right, _ = entity.extent
        canvas.shadow(entity.x, entity.base, (right - left) * 0.42)
    pen = Pen(canvas, entity.x, entity.base, entity.height, entity.flip, number + 1)
    if entity.category == "person":
        garments = enumerate(scene.objects, 1)
        draw_person(pen, entity, {worn.kind: (mark, worn) for mark, worn in garments if worn.wearer == number})
    else:
        colour = SHADES.get(entity.kind, {}).get(entity.colour) or COLOURS.get(entity.colour, (0, 0, 0))
        DRAWERS[entity.kind](pen, entity, colour)
    pen.done()
