"""A thing that a caption speaks of, while its noun phrase is being read."""

from dataclasses import dataclass, field

from .graph import Span


@dataclass(slots=True)
class Thing:
    """An object under construction; `head` is the word it stands on."""

    name: str
    head: int
    span: Span
    attributes: list[tuple[str, Span]] = field(default_factory=list)
    count: int | None = 1
    plural: bool = False
    owner: int = -1  # the word of a possessive ("man's") or of a noun that has it ("clock face")
    owner_name: str = ""
    parts: list[tuple[str, str, Span]] = field(default_factory=list)  # (part, its attribute) of "a long haired woman"
    covers: list[tuple[str, str, Span]] = field(default_factory=list)  # (verb, what does it) of "a snow covered road"
