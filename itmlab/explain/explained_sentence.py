"""A sentence on a picture: how little each word fits, what the model would write there, and the corrected sentence."""

from dataclasses import dataclass, field

from ..data.faults import one_line


@dataclass(frozen=True)
class Word:
    """A word of a sentence, the characters `start` to `end` of it.

    `mismatch` is the largest probability of its pieces to have been replaced (H_WoD), `correction` what H_WoC would
    write there: the word as it stands where no piece of it would change. `joined` says that the correction goes on
    with the word before it, without a blank.
    """

    text: str
    start: int
    end: int
    mismatch: float
    correction: str
    joined: bool = False

    @property
    def rewritten(self) -> bool:
        """Whether the correction is another word."""
        return self.correction != self.text


@dataclass(frozen=True)
class ExplainedSentence:
    """A sentence on a picture: its words, in order, and by the name of each model the score s in [0, 1] (Eq. 3)."""

    sentence: str
    words: tuple[Word, ...]
    scores: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        """The scores, and each word that more likely does not fit than fits or that would be rewritten, on its line."""
        scores = ", ".join(f"{name} {100 * score:.1f} %" for name, score in self.scores.items())
        lines = [
            f"  {one_line(word.text)}: {100 * word.mismatch:.0f} %"
            + (f", rather {one_line(word.correction)}" if word.rewritten else "")
            for word in self.words
            if word.rewritten or word.mismatch > 0.5
        ]
        return "\n".join([f"“{one_line(self.sentence)}” {scores}".rstrip(), *lines])

    def corrected(self, above: float = 0.0) -> str:
        """The sentence with the corrections of words whose mismatch is `above` or more (the paper's: of all)."""
        return "".join(text for text, _ in self.parts(above))

    def parts(self, above: float = 0.0) -> list[tuple[str, bool]]:
        """The corrected sentence in parts, each with whether it was rewritten; what is between words is never."""
        found: list[tuple[str, bool]] = []
        at = 0
        for word in self.words:
            between, change = self.sentence[at : word.start], word.rewritten and word.mismatch >= above
            if change and word.joined and found:
                between = between.strip()
            elif not between and found and (change or found[-1][1]) and _would_run_on(found[-1][0], word.correction):
                between = " "
            found += [(between, False), (word.correction if change else word.text, change)]
            at = word.end
        found.append((self.sentence[at:], False))
        return [part for part in found if part[0]]


def _would_run_on(before: str, after: str) -> bool:
    return before[-1:].isalnum() and after[:1].isalnum()
