"""Exercises about sentences and what is true: notebooks 00 to 03.

A function an exercise: its annotation is the type of an answer, its docstring the hint; it returns what was found, or
raises `Wrong`. The questions stand in the notebooks, the solutions in `notebooks/solutions.md`.
"""

from typing import Any

from jaxtyping import Int8
from torch import Tensor

from itmlab.synthesis.negative import Generate
from itmlab.text.graph import SceneGraph, Span, tokenise
from itmlab.text.masking import PhraseMasking, WordMasking, phrases

from .judging import Wrong, exercise, near, run, scenes, truth, within


def labels(sentence: str | SceneGraph) -> Int8[Tensor, "image"]:
    """Return where a sentence is true (1), false (0) or undecided (−1). One that is undecided everywhere is wrong."""
    truth_labels = scenes().world.truth(None, [sentence])[:, 0]
    if bool((truth_labels == -1).all()):
        raise Wrong(f"of “{sentence}” the world understands too little to judge it; use plainer words")
    return truth_labels


def must_be_false(picture: int, sentence: str) -> None:
    entailed = scenes().world.entails(picture, sentence)
    if entailed is None:
        raise Wrong(f"the world cannot decide whether “{sentence}” is true of picture {picture}")
    if entailed:
        raise Wrong(f"“{sentence}” is true of picture {picture}: that would be a false negative")


def one_word_changed(caption: str, sentence: str) -> tuple[int, str]:
    """The place and the new word of a sentence that differs from the caption in one word."""
    before, after = ([token.lower() for token in tokenise(text)] for text in (caption, sentence))
    changed = [at for at, (old, other) in enumerate(zip(before, after, strict=False)) if old != other]
    if len(before) != len(after) or len(changed) != 1:
        words = f"{len(changed)} words" if len(before) == len(after) else f"{len(after) - len(before):+d} words"
        raise Wrong(f"exactly one word should change, not {words}; the caption is “{caption}”")
    return changed[0], after[changed[0]]


PICTURE = 7  # of the exercises that change a word


def its_caption() -> str:
    return scenes().captions[int(scenes().captions_of_image[PICTURE][0])]


# 00 Start here.


@exercise("00.1")
def a_false_negative(answer: tuple[int, int]) -> str:
    """`data.world.truth()` holds 1 where a caption (column) is true of a picture (row), and `data.positives` marks what
    is annotated: look where the first says 1 and the second does not.
    """
    data = scenes()
    picture, caption = within(answer[0], data, "picture"), within(answer[1], data.captions, "caption")
    words = data.captions[caption]
    if data.positives[picture, caption]:
        raise Wrong(f"“{words}” was written for picture {picture}, so this pair is annotated")
    label = int(truth()[picture, caption])
    if label != 1:
        raise Wrong(f"the world calls “{words}” {'false' if label == 0 else 'undecided'} of picture {picture}")
    return f"“{words}” is true of picture {picture}, and it is not annotated"


@exercise("00.2")
def a_search_that_fails(answer: str) -> str:
    """Small things and colours are hard for a small model: say of a thing which colour it has, or where it stands."""
    truth_labels = labels(answer)
    if not bool((truth_labels == 1).any()):
        raise Wrong(f"“{answer}” is true of no picture here, so no search could succeed")
    first = run("fne").search(answer, data=scenes(), k=1).image_indices[0]
    if int(truth_labels[first]) != 0:
        raise Wrong(f"the best picture, {first}, is {'right' if truth_labels[first] == 1 else 'undecided'}")
    return f"true of {int((truth_labels == 1).sum())} pictures, but not of the first that is found, {first}"


# 01 The scenes world.


@exercise("01.1")
def a_vague_caption(answer: int) -> str:
    """`true_of` counts, for each caption, the pictures that it is true of."""
    caption = within(answer, scenes().captions, "caption")
    count, words = int((truth()[:, caption] == 1).sum()), scenes().captions[caption]
    if count < 3:
        raise Wrong(f"“{words}” is true of {count} {'picture' if count == 1 else 'pictures'} only")
    return f"“{words}” is true of {count} pictures"


@exercise("01.2")
def entailment(answer: tuple[str, str]) -> str:
    """Put a wider word for a narrower one (an animal, a person), or leave a colour or a place out."""
    more, less = (labels(sentence) == 1 for sentence in answer)
    if int(more.sum()) < 3:
        raise Wrong(f"“{answer[0]}” is true of {int(more.sum())} pictures, and should be of three or more")
    if bool((more & ~less).any()):
        picture = int((more & ~less).nonzero()[0])
        raise Wrong(f"of picture {picture} “{answer[0]}” is true and “{answer[1]}” is not")
    if int(less.sum()) < int(more.sum()) + 5:
        raise Wrong(f"they are true of {int(more.sum())} and {int(less.sum())} pictures: the second says as much")
    return f"true of {int(more.sum())} and of {int(less.sum())} pictures, the first among the second"


# 02 What a caption says, and what masking hides of it.


def the_hole() -> tuple[int, SceneGraph, Span]:
    """Picture 5, its fourth caption, and the first object phrase of that."""
    data = scenes()
    graph = data.world.graphs[int(data.captions_of_image[5][3])]
    return 5, graph, next(phrase.span for phrase in phrases(graph) if phrase.kind == "object")


@exercise("02.1")
def refilled(answer: str) -> str:
    """Put in something that the picture does not show: look at it, and mind that who is a girl is a child and a person
    as well.
    """
    picture, graph, span = the_hole()
    words, tokens = list(tokenise(answer)), list(graph.tokens)
    before, after = tokens[: span.start], tokens[span.end :]
    put_in = words[len(before) : len(words) - len(after)]
    lower = [[token.lower() for token in part] for part in (words, before + put_in + after)]
    if lower[0] != lower[1] or not put_in:
        template = " ".join([*before, "…", *after])
        raise Wrong(f"all but the hidden words should stay: {template}")
    if [word.lower() for word in put_in] == [word.lower() for word in tokens[span.start : span.end]]:
        raise Wrong("those are the words that were hidden")
    must_be_false(picture, answer)
    return f"false of picture {picture} by {'one word' if len(put_in) == 1 else 'few words'}: a synthetic negative"


@exercise("02.2")
def a_quarter_hidden(answer: float) -> str:
    """More than a quarter: words outside of all phrases are never hidden. Halve an interval between 0.15 and 0.6."""
    graphs = [scenes().world.graphs[number] for number in range(1500)]
    hidden = sum(map(PhraseMasking(answer).expected_share, graphs)) / len(graphs)
    if abs(hidden - 0.25) > 0.01:
        raise Wrong(f"at a probability of {answer:g} it hides {hidden:.1%} of the words on average")
    return f"{hidden:.1%} of the words are hidden"


@exercise("02.3")
def hidden_of_five_words(answer: float) -> str:
    """Each word is hidden with p; where none is, with (1 − p)⁵, one of the five is: p + (1 − p)⁵ / 5."""
    right = WordMasking(0.3).expected_share(SceneGraph(tokens=tuple("abcde")))
    near(answer, right, 0.003, "the share")
    return f"{right:.1%}, where 30 % of the words were asked for"


# 03 Sentences made to be wrong.


def difficulty_for_uniter(sentence: str) -> float:
    """s(I, T⁻) − s(I, T) of a sentence made of the exercise's caption."""
    from ..analysis.scoring import as_score, matching

    asked = matching(run("uniter"), scenes(regions=True))([PICTURE, PICTURE], [its_caption(), sentence])
    caption, negative = as_score(run("uniter"), asked).tolist()
    return negative - caption


@exercise("03.1")
def a_generator(answer: Generate) -> str:
    """Another animal is easy to see. Say something else of a smaller thing: a colour, or who wears what."""
    from ..analysis.negatives import synthetic_negatives

    def make(generator: Any, **options: Any) -> Any:
        data, scorer = scenes(regions=True), run("uniter")
        return synthetic_negatives(data, range(0, 500, 10), generator, scorer=scorer, **options)

    try:
        negatives = make(answer)
    except (TypeError, AttributeError) as error:
        raise Wrong(f"it fails with {type(error).__name__}: {' '.join(str(error).split())[:200]}") from None
    false = negatives.truth.share
    if len(negatives) < 10 or false.of < 8:
        raise Wrong(
            f"of 50 captions it makes {len(negatives)} negatives, of which the world decides {false.of}: too few"
        )
    if false.percent < 95:
        raise Wrong(f"{false.percent:.0f} % of the negatives that the world decides are false, wanted 95 %")
    difficulty, batch_difficulty = (float(group.difficulty.mean()) for group in (negatives, make("in_batch", keep=1)))
    if difficulty <= batch_difficulty:
        means = f"{batch_difficulty:+.3f} on average, yours {difficulty:+.3f}"
        raise Wrong(f"a batch's hardest caption is harder for uniter: {means}")
    average = f"difficulty {difficulty:+.3f} on average, of a batch's hardest captions {batch_difficulty:+.3f}"
    return f"{false.percent:.0f} % false, {average}"


@exercise("03.2")
def a_hard_negative(answer: str) -> str:
    """Change what a small model looks at least: the colour of a small thing, or a verb, rather than the main thing."""
    one_word_changed(its_caption(), answer)
    must_be_false(PICTURE, answer)
    more = difficulty_for_uniter(answer)
    if more <= 0:
        raise Wrong(f"false, but uniter sees it: the caption scores higher by {-more:.3f}")
    return f"false, and uniter scores it above the caption by {more:.3f}"


@exercise("03.3")
def a_false_negative_that_passes(answer: str) -> str:
    """Put a wider word, or another word for the same, that none of the picture's five captions uses."""
    _, new = one_word_changed(its_caption(), answer)
    data = scenes()
    for number in data.captions_of_image[PICTURE].tolist():
        if new in map(str.lower, tokenise(data.captions[number])):
            raise Wrong(f"the filter stops it, because “{new}” occurs in “{data.captions[number]}”")
    entailed = data.world.entails(PICTURE, answer)
    if not entailed:
        raise Wrong(f"“{answer}” is {'undecided' if entailed is None else 'truly false'}: no false negative")
    return f"true of the picture, and no caption says “{new}”, so the paper's filter lets it through"
