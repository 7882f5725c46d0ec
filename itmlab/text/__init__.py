"""What captions say: scene graphs with their token spans, maskings of their phrases, and tokenising."""

from .graph import Attribute, Relation, SceneGraph, SceneObject, Span, tokenise
from .masking import Phrase, PhraseMasking, WordMasking, phrases
from .parsing import parse

__all__ = [
    "Attribute",
    "Phrase",
    "PhraseMasking",
    "Relation",
    "SceneGraph",
    "SceneObject",
    "Span",
    "WordMasking",
    "parse",
    "phrases",
    "tokenise",
]
