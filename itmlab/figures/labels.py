"""Words from outside (captions, names) made fit for a figure: escaped, wrapped, cut."""

import html
import textwrap


def label(text: str, *, width: int | None = None, lines: int | None = None) -> str:
    """`text` as plotly shows it letter by letter: no markup, link or formula in it takes effect.

    It is wrapped at `width` characters and, when longer than `lines` lines, cut with an ellipsis. Control characters
    become spaces.
    """
    plain = "".join(character if character.isprintable() else " " for character in text)
    if width is None:
        return _literal(plain)
    return "<br>".join(map(_literal, textwrap.wrap(plain, width, max_lines=lines, placeholder=" …")))


def _literal(text: str) -> str:
    """Escaped for HTML in the entities that plotly knows (&quot; is none of them), and the dollar sign too, because it
    hands text between two of them to MathJax.
    """
    return html.escape(text).replace("&quot;", "&#34;").replace("$", "&#36;")
