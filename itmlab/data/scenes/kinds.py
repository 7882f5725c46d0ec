"""What can be drawn: each kind's category, size, proportions, colours and poses, and each setting's parts."""

from dataclasses import dataclass

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (216, 54, 50),
    "orange": (242, 138, 38),
    "yellow": (247, 208, 66),
    "green": (62, 152, 80),
    "blue": (52, 104, 204),
    "purple": (130, 76, 180),
    "pink": (243, 142, 182),
    "brown": (138, 88, 50),
    "black": (44, 44, 52),
    "white": (247, 246, 242),
    "gray": (146, 150, 158),
}
BRIGHT = ("red", "orange", "yellow", "green", "blue", "purple", "pink")
CLOTH = (*BRIGHT, "white", "black", "gray")
PAINT = ("red", "blue", "yellow", "green", "white", "black", "orange")


@dataclass(frozen=True)
class Kind:
    """A kind of thing: `height` in picture heights, `wide` and `poses` {pose: (width, height)} in heights."""

    category: str
    height: float = 0.3
    wide: float = 1.0
    colours: tuple[str, ...] = ()
    poses: tuple[tuple[str, float, float], ...] = ()
    patterns: tuple[str, ...] = ()
    sized: bool = False  # comes also big and small

    def proportions(self, pose: str) -> tuple[float, float]:
        """Width and height of the drawing in a pose, in heights of the kind."""
        return next(((wide, high) for name, wide, high in self.poses if name == pose), (self.wide, 1.0))


def _walker(wide: float, *more: tuple[str, float, float]) -> tuple[tuple[str, float, float], ...]:
    return (("stand", wide, 1.0), ("walk", wide, 1.0), ("run", wide * 1.12, 1.0), *more)


_BODY = (
    ("stand", 0.42, 1.0),
    ("walk", 0.48, 1.0),
    ("run", 0.68, 1.0),
    ("jump", 0.6, 1.0),
    ("kick", 0.62, 1.0),
    ("sit", 0.52, 0.8),
    ("mount", 0.45, 0.75),
    ("cycle", 0.52, 0.9),
    ("aboard", 0.4, 0.6),
)

KINDS: dict[str, Kind] = {
    "man": Kind("person", 0.6, 0.42, poses=_BODY),
    "woman": Kind("person", 0.57, 0.42, poses=_BODY),
    "boy": Kind("person", 0.45, 0.48, poses=_BODY),
    "girl": Kind("person", 0.45, 0.48, poses=_BODY),
    "dog": Kind(
        "animal",
        0.32,
        1.35,
        ("brown", "black", "white", "gray", "yellow"),
        _walker(1.35, ("sit", 0.95, 1.0), ("lie", 1.35, 0.58), ("jump", 1.5, 1.0)),
        ("spotted",),
        True,
    ),
    "cat": Kind(
        "animal",
        0.28,
        1.25,
        ("orange", "black", "white", "gray"),
        _walker(1.25, ("sit", 0.85, 1.0), ("lie", 1.3, 0.6)),
        ("striped",),
        True,
    ),
    "horse": Kind(
        "animal", 0.52, 1.12, ("brown", "black", "white", "gray"), _walker(1.12, ("jump", 1.3, 1.0)), (), True
    ),
    "zebra": Kind("animal", 0.5, 1.12, ("white",), _walker(1.12), ("striped",)),
    "cow": Kind("animal", 0.4, 1.45, ("white", "brown", "black"), _walker(1.45, ("lie", 1.45, 0.62)), ("spotted",)),
    "sheep": Kind("animal", 0.34, 1.3, ("white", "black", "gray"), _walker(1.3, ("lie", 1.3, 0.64)), (), True),
    "elephant": Kind("animal", 0.52, 1.4, ("gray",), _walker(1.4), (), True),
    "giraffe": Kind("animal", 0.76, 0.72, ("yellow",), _walker(0.72), ("spotted",)),
    "rabbit": Kind("animal", 0.28, 0.95, ("white", "brown", "gray"), (("sit", 0.95, 1.0), ("run", 1.2, 0.9))),
    "bird": Kind(
        "animal",
        0.22,
        1.3,
        ("red", "blue", "yellow", "black", "white"),
        (("stand", 1.15, 1.0), ("fly", 1.5, 1.0)),
    ),
    "duck": Kind("animal", 0.25, 1.15, ("white", "yellow", "brown"), (("stand", 1.15, 1.0), ("swim", 1.15, 0.8))),
    "car": Kind("vehicle", 0.27, 2.1, PAINT, sized=True),
    "bus": Kind("vehicle", 0.42, 1.75, ("red", "blue", "yellow", "green", "white", "orange")),
    "truck": Kind("vehicle", 0.4, 1.75, ("red", "blue", "yellow", "green", "white"), sized=True),
    "bicycle": Kind("vehicle", 0.33, 1.55, ("red", "blue", "green", "black", "yellow", "pink")),
    "motorcycle": Kind("vehicle", 0.31, 1.7, ("red", "blue", "black", "yellow", "green")),
    "boat": Kind("vehicle", 0.5, 1.05, ("red", "blue", "white", "green", "brown")),
    "skateboard": Kind("vehicle", 0.085, 3.4, ("red", "blue", "green", "yellow", "purple", "black")),
    "ball": Kind("thing", 0.17, 1.0, BRIGHT, patterns=("striped", "spotted"), sized=True),
    "kite": Kind("thing", 0.26, 0.8, BRIGHT, patterns=("striped",)),
    "balloon": Kind("thing", 0.26, 0.62, BRIGHT, sized=True),
    "umbrella": Kind("thing", 0.42, 1.1, (*BRIGHT, "black"), patterns=("striped", "spotted")),
    "flower": Kind("thing", 0.24, 0.5, ("red", "yellow", "pink", "purple", "white", "blue")),
    "book": Kind("thing", 0.13, 1.35, ("red", "blue", "green", "brown", "purple")),
    "guitar": Kind("thing", 0.17, 2.4, ("brown", "red", "black", "orange")),
    "cup": Kind("thing", 0.16, 1.1, ("white", "red", "blue", "yellow", "green"), patterns=("striped",)),
    "bag": Kind("thing", 0.17, 0.9, ("red", "blue", "brown", "black", "pink", "green")),
    "bench": Kind("thing", 0.28, 1.9, ("brown", "green", "white", "blue")),
    "chair": Kind("thing", 0.4, 0.68, ("brown", "red", "white", "blue", "green")),
    "sofa": Kind("thing", 0.33, 2.0, ("red", "blue", "green", "gray", "purple", "brown")),
    "table": Kind("thing", 0.3, 1.7, ("brown", "white", "black")),
    "tree": Kind("thing", 0.74, 0.72, ("green", "orange"), sized=True),
    "house": Kind("thing", 0.6, 1.1, ("red", "white", "yellow", "blue", "brown"), sized=True),
    "tent": Kind("thing", 0.4, 1.4, ("orange", "blue", "green", "red", "yellow"), patterns=("striped",)),
    "box": Kind("thing", 0.22, 1.15, ("brown", "red", "blue", "white"), sized=True),
    "fence": Kind("thing", 0.24, 2.3, ("white", "brown", "gray")),
    "snowman": Kind("thing", 0.46, 0.7, ("white",)),
    "shirt": Kind("worn", wide=0.42, colours=CLOTH, patterns=("striped", "spotted")),
    "dress": Kind("worn", wide=0.42, colours=CLOTH, patterns=("striped", "spotted")),
    "coat": Kind("worn", wide=0.42, colours=(*BRIGHT, "black", "brown", "gray")),
    "trousers": Kind("worn", wide=0.42, colours=("blue", "black", "brown", "gray", "white")),
    "hat": Kind("worn", wide=0.42, colours=(*BRIGHT, "black", "white", "brown")),
    "scarf": Kind("worn", wide=0.42, colours=BRIGHT, patterns=("striped",)),
    "backpack": Kind("worn", wide=0.42, colours=("red", "blue", "green", "purple", "black", "orange")),
    **{name: Kind("stuff") for name in ("grass", "sand", "snow", "road", "water", "floor", "wall", "sky", "rock")},
    **{
        name: Kind("place")
        for name in ("park", "beach", "street", "winter", "field", "forest", "desert", "lake", "room", "mountain")
    },
}


@dataclass(frozen=True)
class Setting:
    """A place: what one stands on, what else is seen, what its background may be taken for, its chance."""

    ground: str
    around: tuple[str, ...]
    backdrop: frozenset[str] = frozenset()
    weight: float = 1.0


SETTINGS: dict[str, Setting] = {
    "park": Setting("grass", ("sky",), frozenset({"tree"}), 1.4),
    "beach": Setting("sand", ("water", "sky"), frozenset(), 1.2),
    "street": Setting("road", ("sky",), frozenset({"house"}), 1.4),
    "winter": Setting("snow", ("sky",), frozenset({"tree"}), 1.0),
    "field": Setting("grass", ("sky",), frozenset(), 1.2),
    "forest": Setting("grass", ("sky",), frozenset({"tree"}), 0.9),
    "desert": Setting("sand", ("sky",), frozenset(), 0.8),
    "lake": Setting("grass", ("water", "sky"), frozenset({"tree"}), 1.0),
    "room": Setting("floor", ("wall",), frozenset(), 1.2),
    "mountain": Setting("rock", ("sky",), frozenset({"snow"}), 0.8),
}
PEOPLE = tuple(name for name, kind in KINDS.items() if kind.category == "person")
