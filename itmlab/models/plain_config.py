"""What all model configurations share: plain values that go to JSON and back, and one line for whatever is wrong."""

from dataclasses import asdict, fields
from typing import Any, Self

from itmlab.errors import ItmlabError


class PlainConfig:
    """Base of a frozen dataclass of plain values."""

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The inverse of `to_dict`; unknown names and values of the wrong type are an ItmlabError."""
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise cls.refused(f"unknown setting {', '.join(map(repr, unknown))}")
        return cls(**values)

    @classmethod
    def refused(cls, what: str) -> ItmlabError:
        """The error that says what is wrong with a configuration of this class."""
        return ItmlabError(what, where="model configuration", remedy=f"see itmlab.models.{cls.__name__}")


def is_whole(value: Any) -> bool:
    """Whether it is a whole number above 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
