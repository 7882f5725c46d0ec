"""When each relation holds between two things: one rule a name, True, False or None at the border.

What was composed is known; what is only a matter of position is decided where it is clear and left open at the border.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from .scene import Thing

if TYPE_CHECKING:
    from .facts import Facts

Verdict = bool | None
MOVING = ("walk", "run", "mount", "cycle")
_TOUCHING = frozenset({"ride", "hold", "wear", "on", "in", "under", "over", "read", "play"})


def _action(name: str) -> Callable[["Facts", int, int], Verdict]:
    def rule(facts: "Facts", subject: int, thing: int) -> Verdict:
        return (subject, name, thing) in facts.known

    return rule


def _gap(a: Thing, b: Thing) -> tuple[float, float]:
    """(free width between two boxes, negative when they overlap; the smaller width)."""
    left, _, right, _ = a.extent
    c, _, d, _ = b.extent
    return max(c - right, left - d), min(right - left, d - c)


def _towards(who: Thing, whom: Thing) -> bool:
    return (whom.x < who.x) == who.flip


def _hold(facts: "Facts", subject: int, thing: int) -> Verdict:
    if facts.linked.get((subject, thing), set()) & {"hold", "read", "play"}:
        return True
    a, b = facts.things[subject], facts.things[thing]
    if (subject, "fly", thing) in facts.known or (subject, "wear", thing) in facts.known:
        return None
    if a.category != "person" or b.category in ("person", "worn"):
        return None if a.category == "person" and b.category == "worn" and b.wearer == subject else False
    close = _gap(a, b)[0] < 0 and b.height < 0.3
    return None if close else False


def _carry(facts: "Facts", subject: int, thing: int) -> Verdict:
    if facts.things[thing].kind == "backpack" and (subject, "wear", thing) in facts.known:
        return True
    return _hold(facts, subject, thing)


def _ride(facts: "Facts", subject: int, thing: int) -> Verdict:
    if (subject, "in", thing) in facts.known:
        return None
    return (subject, "ride", thing) in facts.known


def _chase(facts: "Facts", subject: int, thing: int) -> Verdict:
    if (subject, "chase", thing) in facts.known:
        return True
    a, b = facts.things[subject], facts.things[thing]
    flees = b.kind == "ball" or (b.pose == "run" and b.flip == a.flip)
    return None if a.pose == "run" and flees and _towards(a, b) else False


def _follow(facts: "Facts", subject: int, thing: int) -> Verdict:
    chase = _chase(facts, subject, thing)
    if chase is not False:
        return chase
    a, b = facts.things[subject], facts.things[thing]
    return None if a.pose in MOVING and b.pose in MOVING and a.flip == b.flip and _towards(a, b) else False


def _kick(facts: "Facts", subject: int, thing: int) -> Verdict:
    if (subject, "kick", thing) in facts.known:
        return True
    a, b = facts.things[subject], facts.things[thing]
    return None if a.pose == "kick" and _towards(a, b) and _gap(a, b)[0] < 0.08 else False


def _play_with(facts: "Facts", subject: int, thing: int) -> Verdict:
    linked = facts.linked.get((subject, thing), set())
    if linked & {"kick", "fly"} or ("chase" in linked and facts.things[thing].kind == "ball"):
        return True
    return None if _gap(facts.things[subject], facts.things[thing])[0] < 0.2 else False


def _walk(facts: "Facts", subject: int, thing: int) -> Verdict:
    if facts.linked.get((subject, thing), set()) & {"walk", "lead"}:
        return True
    a, b = facts.things[subject], facts.things[thing]
    alike = a.category == "person" and b.category == "animal" and a.pose == b.pose == "walk"
    return None if alike and _gap(a, b)[0] < 0.2 else False


def _on(facts: "Facts", subject: int, thing: int) -> Verdict:
    linked = facts.linked.get((subject, thing), set())
    if linked & {"on", "ride"} or (thing, "wear", subject) in facts.known:
        return True
    return None if linked & {"in", "over"} else False


def _in(facts: "Facts", subject: int, thing: int) -> Verdict:
    linked = facts.linked.get((subject, thing), set())
    if linked & {"in", "wear"}:
        return True
    if "on" in linked:
        return True if facts.things[thing].kind == "chair" else None
    if facts.things[thing].kind == "tree" and _gap(facts.things[subject], facts.things[thing])[0] < 0:
        return None
    return False


def _above(facts: "Facts", subject: int, thing: int) -> Verdict:
    if facts.between(subject, thing) & (_TOUCHING - {"over"}):
        return None
    if (subject, "over", thing) in facts.known:
        return True
    a, b = facts.things[subject], facts.things[thing]
    higher = a.extent[3] <= b.extent[1] + 0.02
    gap, narrow = _gap(a, b)
    if higher:
        return True if gap < -0.3 * narrow else None
    return None if a.extent[3] < b.extent[3] - 0.15 and gap < 0 else False


def _over(facts: "Facts", subject: int, thing: int) -> Verdict:
    return True if (subject, "over", thing) in facts.known else _above(facts, subject, thing)


def _under(facts: "Facts", subject: int, thing: int) -> Verdict:
    if (subject, "under", thing) in facts.known:
        return True
    if (thing, "under", subject) in facts.known:
        return False
    above = _above(facts, thing, subject)
    if above is False and facts.things[thing].kind in ("tree", "table", "umbrella", "bench", "chair"):
        return None if _gap(facts.things[subject], facts.things[thing])[0] < 0.02 else False
    return above


def _afoot(facts: "Facts", *numbers: int) -> bool:
    return all(facts.ground(number)[1] not in ("", "sky") for number in numbers)


def _next_to(facts: "Facts", subject: int, thing: int) -> Verdict:
    a, b = facts.things[subject], facts.things[thing]
    if facts.between(subject, thing) & _TOUCHING or "worn" in (a.category, b.category):
        return None
    gap, narrow = _gap(a, b)
    if gap > 0.3:
        return False
    apart = abs(facts.things[facts.root(subject)].base - facts.things[facts.root(thing)].base)
    return True if -0.3 * narrow < gap < 0.08 and apart < 0.07 and _afoot(facts, subject, thing) else None


def _near(facts: "Facts", subject: int, thing: int) -> Verdict:
    if facts.between(subject, thing) & _TOUCHING:
        return None
    if _next_to(facts, subject, thing):
        return True
    a, b = facts.things[subject], facts.things[thing]
    gap, _ = _gap(a, b)
    if gap > 0.45:
        return False
    apart = abs(facts.things[facts.root(subject)].base - facts.things[facts.root(thing)].base)
    return True if gap < 0.14 and apart < 0.12 and _afoot(facts, subject, thing) else None


def _in_front_of(facts: "Facts", subject: int, thing: int) -> Verdict:
    a, b = facts.things[subject], facts.things[thing]
    if facts.between(subject, thing) & _TOUCHING or not _afoot(facts, subject, thing):
        return None
    gap, narrow = _gap(a, b)
    nearer = facts.things[facts.root(subject)].base - facts.things[facts.root(thing)].base
    if gap < -0.4 * narrow and abs(nearer) > 0.05:
        return nearer > 0
    return False if gap > 0.3 and abs(nearer) < 0.03 else None


def _behind(facts: "Facts", subject: int, thing: int) -> Verdict:
    return _in_front_of(facts, thing, subject)


def _left(facts: "Facts", subject: int, thing: int) -> Verdict:
    a, b = facts.things[subject].extent, facts.things[thing].extent
    if a[2] <= b[0] + 0.02:
        return True
    return False if b[2] <= a[0] + 0.02 else None


def _right(facts: "Facts", subject: int, thing: int) -> Verdict:
    return _left(facts, thing, subject)


def _with(facts: "Facts", subject: int, thing: int) -> Verdict:
    return True if facts.between(subject, thing) or _near(facts, subject, thing) else None


def _have(facts: "Facts", subject: int, thing: int) -> Verdict:
    return True if facts.linked.get((subject, thing), set()) & {"hold", "wear", "walk", "fly"} else None


def _open(facts: "Facts", subject: int, thing: int) -> Verdict:
    return None


RULES: dict[str, Callable[["Facts", int, int], Verdict]] = {
    "wear": _action("wear"),
    "read": _action("read"),
    "play": _action("play"),
    "fly": _action("fly"),
    "leap": _action("over"),
    "ride": _ride,
    "hold": _hold,
    "carry": _carry,
    "chase": _chase,
    "follow": _follow,
    "kick": _kick,
    "play with": _play_with,
    "walk": _walk,
    "have": _have,
    "on": _on,
    "in": _in,
    "under": _under,
    "over": _over,
    "above": _above,
    "behind": _behind,
    "in front of": _in_front_of,
    "next to": _next_to,
    "near": _near,
    "left of": _left,
    "right of": _right,
    "with": _with,
    "at": _open,
    "across": _open,
}
