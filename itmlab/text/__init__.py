"""What captions say: scene graphs with their token spans, and tokenising."""

from .graph import Attribute, Relation, SceneGraph, SceneObject, Span, tokenise

__all__ = ["Attribute", "Relation", "SceneGraph", "SceneObject", "Span", "tokenise"]
