"""Drawing scenes: one file a family of things, all through the same pen."""

from PIL import Image

from ..scene import SETTINGS, Scene, Thing
from .animals import QUADRUPEDS, draw_bird, draw_duck
from .canvas import Canvas, Pen
from .people import draw_person, hand
from .settings import paint_setting
from .things import FURNITURE, TOYS, VEHICLES

# A scene drawn: the picture and, for each pixel, which thing is seen there.


DRAWERS = {**QUADRUPEDS, "bird": draw_bird, "duck": draw_duck, **VEHICLES, **TOYS, **FURNITURE}
_AFLOAT = ("boat",)
_ENDS = {"fly": 0.34, "walk": 0.7, "lead": 0.8}  # strings and leashes end this high on the other end
_NECKS = {"dog": 0.33, "horse": 0.36, "cow": 0.42, "elephant": 0.3}


def render(scene: Scene, size: int) -> tuple[Image.Image, Image.Image]:
    """(RGB picture, "L" marks) of `size` pixels a side; a mark is the number of an object in the scene plus one."""
    canvas = Canvas(size)
    marks = {thing.kind: number + 1 for number, thing in enumerate(scene.objects) if thing.category == "stuff"}
    paint_setting(canvas, scene, marks, bands(scene))
    drawn = [
        (thing.layer, number, thing)
        for number, thing in enumerate(scene.objects)
        if thing.category not in ("stuff", "place", "worn")
    ]
    for _, number, thing in sorted(drawn, key=lambda entry: entry[:2]):
        _draw(canvas, scene, number, thing)
    for fact in scene.facts:
        if fact.relation in _ENDS:
            _line(
                canvas, scene.objects[fact.subject], scene.objects[fact.object], _ENDS[fact.relation], fact.subject + 1
            )
    return canvas.finish()


def bands(scene: Scene) -> list[tuple[str, float, float]]:
    """The stripes of stuff from top to bottom: (stuff, top, bottom) in picture heights."""
    setting, horizon = SETTINGS[scene.setting], scene.horizon
    above = setting.around[-1]
    if "water" not in setting.around:
        return [(above, 0.0, horizon), (setting.ground, horizon, 1.0)]
    shore = water_edge(scene.setting, horizon)
    return [(above, 0.0, horizon), ("water", horizon, shore), (setting.ground, shore, 1.0)]


def water_edge(setting: str, horizon: float) -> float:
    """Where the water ends and the shore begins."""
    return horizon + 0.16 if setting == "beach" else 0.82


def _line(canvas: Canvas, who: Thing, what: Thing, up: float, mark: int) -> None:
    """A string from a person's near hand to the kite or the animal's neck."""
    start = hand(who.kind, who.pose, who.hands, x=who.x, base=who.base, height=who.height, flip=who.flip)
    neck = _NECKS.get(what.kind, 0.0) * what.height
    end = (what.x + (-neck if what.flip else neck), what.base - up * what.height)
    sag = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + 0.02)
    path = [(x * canvas.pixels, y * canvas.pixels) for x, y in (start, sag, end)]
    wide = max(round(0.006 * canvas.pixels), 1)
    canvas.draw.line(path, fill=(70, 56, 56), width=wide)
    canvas.mark.line(path, fill=mark, width=wide)


def _draw(canvas: Canvas, scene: Scene, number: int, thing: Thing) -> None:
    if thing.base > scene.horizon and thing.pose not in ("fly", "swim") and thing.kind not in _AFLOAT:
        left, _, right, _ = thing.extent
        aloft = thing.kind in ("kite", "balloon", "umbrella", "cup", "book", "guitar", "bag", "flower")
        if not aloft and thing.pose not in ("mount", "cycle", "aboard", "sit", "jump"):
            canvas.shadow(thing.x, thing.base, (right - left) * 0.42)
    pen = Pen(canvas, thing.x, thing.base, thing.height, thing.flip, number + 1)
    if thing.category == "person":
        worn = {
            garment.kind: (mark + 1, garment) for mark, garment in enumerate(scene.objects) if garment.wearer == number
        }
        draw_person(pen, thing, worn)
    else:
        DRAWERS[thing.kind](pen, thing)
    pen.done()
