"""What happens in pictures: each event adds a cluster of things around x = 0 and notes the facts."""

from collections.abc import Callable
from dataclasses import dataclass

from ..draft import Draft
from .doing import chase, fly_kite, hold, kick, play_guitar
from .gathering import animals, people, toys, vehicles
from .going import jump_over, ride, sail, walk_animal
from .resting import beside, sit, table, under_tree
from .staging import INDOORS, WATER

__all__ = ["EVENTS", "INDOORS", "Event"]


@dataclass(frozen=True)
class Event:
    """A way to fill a part of a picture: its maker, its weight, where it happens (`None`: anywhere outdoors)."""

    make: Callable[[Draft], None]
    weight: float
    settings: tuple[str, ...] | None = ()
    outdoors: bool = False


EVENTS: tuple[Event, ...] = (
    Event(hold, 2.2),
    Event(play_guitar, 0.9),
    Event(ride, 2.0),
    Event(sail, 2.6, WATER),
    Event(walk_animal, 1.2),
    Event(chase, 1.7),
    Event(kick, 0.9),
    Event(fly_kite, 0.9, outdoors=True),
    Event(sit, 1.8),
    Event(table, 1.0),
    Event(jump_over, 0.7),
    Event(animals, 2.0),
    Event(people, 1.2),
    Event(vehicles, 2.2, ("street",)),
    Event(vehicles, 0.5, ("desert", "field", "mountain", "winter", "forest")),
    Event(toys, 0.9),
    Event(beside, 1.2),
    Event(under_tree, 0.8, outdoors=True),
)
