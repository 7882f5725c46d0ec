"""Exercises about sentences and what is true: notebooks 00 to 03.

There is one function per exercise. Its annotation is the type of an answer, the three paragraphs of its docstring are
the hints. It returns what was found, or raises `Wrong`. The tasks stand in the notebooks, solutions in
`notebooks/guide/solutions.md`.
"""

from collections import Counter
from collections.abc import Callable
from difflib import SequenceMatcher
from functools import cache
from typing import Any

import torch
from jaxtyping import Int8
from torch import Tensor

from itmlab.data import load
from itmlab.metrics.ranking import recall
from itmlab.synthesis.negative import Generate, Negative, naming, without_false_negatives
from itmlab.synthesis.rules import vse_c
from itmlab.text.graph import SceneGraph, Span, tokenise
from itmlab.text.masking import PhraseMasking, WordMasking, phrases, realised_share

from .judging import Wrong, agrees, exercise, run, scenes, scores, truth, within


def labels(sentence: str | SceneGraph) -> Int8[Tensor, "image"]:
    """Return where a sentence is true (1), false (0) or undecided (−1).

    Raises:
        Wrong: it is undecided everywhere.
    """
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
    """Return the place and the new word of a sentence that differs from the caption in one word."""
    before, after = ([token.lower() for token in tokenise(text)] for text in (caption, sentence))
    changed = [at for at, (old, other) in enumerate(zip(before, after, strict=False)) if old != other]
    if len(before) != len(after) or len(changed) != 1:
        words = f"{len(changed)} words" if len(before) == len(after) else f"{len(after) - len(before):+d} words"
        raise Wrong(f"exactly one word should change, not {words}; the caption is “{caption}”")
    return changed[0], after[changed[0]]


def called(answer: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a student's function.

    Raises:
        Wrong: it fails.
    """
    try:
        return answer(*arguments, **options)
    except Exception as error:
        raise Wrong(f"it fails with {type(error).__name__}: {' '.join(str(error).split())[:200]}") from None


PICTURE = 7  # of the exercises that change a word


def its_caption() -> str:
    return scenes().captions[int(scenes().captions_of_image[PICTURE][0])]


# 00 Start here.


@exercise("00.1")
def a_search_that_fails(answer: str) -> str:
    """Which words does a small model get wrong? Try short sentences about common things before long ones.

    Numbers, colours of clothes and who stands where are hard for a small model. Change one such word and search again.

    Ask for a number of common animals, or for a common animal of an uncommon colour. The first picture then often shows
    another number, another animal or another colour.
    """
    truth_labels = labels(answer)
    if not bool((truth_labels == 1).any()):
        raise Wrong(f"“{answer}” is true of no picture here, so no search could succeed")
    first = run("fne").search(answer, data=scenes(), k=1).image_indices[0]
    if int(truth_labels[first]) != 0:
        raise Wrong(f"the best picture, {first}, is {'right' if truth_labels[first] == 1 else 'undecided'}")
    return f"true of {int((truth_labels == 1).sum())} pictures, but not of the first that is found, {first}"


@exercise("00.2")
def recall_at_k(answer: Callable) -> str:
    """A query succeeds if at least one of its k best candidates is marked as positive.

    `scores.topk(k)` gives the places of the k best candidates of each row, `positives.gather(1, places)` says which of
    them are positive, and `any(dim=1)` says whether one is.

    `hits = positives.gather(1, scores.topk(k).indices).any(dim=1)`; the recall is 100 times the mean of `hits.float()`.
    """
    generator = torch.Generator().manual_seed(0)
    inputs = []
    for k in (1, 3, 5):
        positives = torch.rand(8, 20, generator=generator) < 0.2
        positives[:, 0] = True
        inputs.append((torch.rand(8, 20, generator=generator), positives, k))
    agrees(answer, lambda *given: torch.tensor(recall(*given)), inputs, tolerance=1e-4)
    first = float(answer(scores("fne"), scenes().positives, 1))
    return f"equal to the package's recall; of the test pictures, fne finds a caption first for {first:.1f} %"


@exercise("00.3")
def a_false_negative(answer: tuple[int, int]) -> str:
    """Which pairs are true, and which are annotated? You need one that is the first but not the second.

    `data.world.truth()` is 1 where a caption (column) is true of a picture (row). `data.positives` marks the annotated
    pairs.

    `((data.world.truth() == 1) & ~data.positives).nonzero()` lists all of them, one pair per row.
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


@cache
def ten_pairs() -> list[tuple[int, int]]:
    """Return ten pairs of a picture and the hardest caption of another one; the world calls five of them true."""
    hardest = scores("fne").masked_fill(scenes().positives, -torch.inf).argmax(dim=1)
    verdicts = truth().gather(1, hardest[:, None])[:, 0]
    order = torch.randperm(len(verdicts), generator=torch.Generator().manual_seed(0))
    chosen = [picture for label in (0, 1) for picture in order[verdicts[order] == label][:5].tolist()]
    return [(picture, int(hardest[picture])) for picture in sorted(chosen)]


@exercise("00.4")
def you_against_the_world(answer: tuple[int, ...]) -> str:
    """Read each sentence slowly: every word has to be true of the picture. Things that it leaves out do not matter.

    Look at the smallest words of a sentence: who wears what, which colour, where. A wider word ("a person", "an
    animal") is true of more pictures than it seems.

    Half of the ten sentences are true of their pictures.
    """
    chosen = {within(number - 1, ten_pairs(), "pair") for number in answer}
    right = sum((truth()[pair] == 1) == (at in chosen) for at, pair in enumerate(ten_pairs()))
    if right < 8:
        raise Wrong(f"you and the world agree on {int(right)} of 10 pairs; 8 are asked for")
    true = ", ".join(str(at) for at, pair in enumerate(ten_pairs(), start=1) if truth()[pair] == 1)
    return f"you and the world agree on {int(right)} of 10 pairs (true: {true}); training calls all ten negative"


# 01 The scenes world.


@exercise("01.1")
def entailment(answer: tuple[str, str]) -> str:
    """Begin with a sentence about common things. Then say less.

    Put a wider word for a narrower one (an animal for a dog, a person for a girl), or leave a colour or a place out.

    A sentence such as “a girl next to a …” is true of few pictures; “a child next to an animal” is true of all of these
    and of more.
    """
    more, less = (labels(sentence) == 1 for sentence in answer)
    if int(more.sum()) < 3:
        raise Wrong(f"“{answer[0]}” is true of {int(more.sum())} pictures, and should be of three or more")
    if bool((more & ~less).any()):
        picture = int((more & ~less).nonzero()[0])
        raise Wrong(f"of picture {picture} “{answer[0]}” is true and “{answer[1]}” is not")
    if int(less.sum()) < int(more.sum()) + 5:
        raise Wrong(f"they are true of {int(more.sum())} and {int(less.sum())} pictures: the second says as much")
    return f"true of {int(more.sum())} and of {int(less.sum())} pictures, the first among the second"


@exercise("01.2")
def a_vague_caption(answer: int) -> str:
    """Which captions leave most out? Those are true of many pictures.

    `world.truth()` has a row per picture and a column per caption. Count the ones in each column.

    `(world.truth() == 1).sum(dim=0)` counts them; take the number of a column whose count is three or more.
    """
    caption = within(answer, scenes().captions, "caption")
    count, words = int((truth()[:, caption] == 1).sum()), scenes().captions[caption]
    if count < 3:
        raise Wrong(f"“{words}” is true of {count} {'picture' if count == 1 else 'pictures'} only")
    return f"“{words}” is true of {count} pictures"


@exercise("01.3")
def share_without_annotation(answer: Callable) -> str:
    """Two conditions must hold for a pair to count, and every pair counts in the denominator.

    A pair counts if its truth label is 1 and it is not annotated. Undecided pairs (−1) do not count as true.

    `((truth == 1) & ~positives).float().mean()`
    """
    world, generator = scenes().world, torch.Generator().manual_seed(0)
    inputs, expected = [], []
    for size in (50, 200):
        images, captions = (torch.randperm(n, generator=generator)[:size] for n in (500, 2500))
        inputs.append((truth()[images][:, captions], scenes().positives[images][:, captions]))
        expected.append(torch.tensor(world.unannotated(images, captions).share))
    results = iter(expected)
    agrees(answer, lambda *given: next(results), inputs, tolerance=1e-6)
    whole = float(answer(truth(), scenes().positives))
    return f"equal to the package's count; over the whole split it is {whole:.2%}"


@exercise("01.4")
def a_world_of_your_own(answer: float) -> str:
    """The vaguer the captions, the more pairs are true. Is the share at 0.41 larger or smaller than the one asked for?

    Read a first guess off the figure above, then try values between the two nearest settings.

    Between 0.5 and 0.75 the share passes one in a hundred; it rises more steeply towards 0.75.
    """
    if not 0 <= answer <= 1:
        raise Wrong(f"the option is a number from 0 to 1, got {answer:g}")
    measured = load("scenes", images=240, unannotated=answer).world.unannotated().share
    if not 0.006 <= measured <= 0.014:
        raise Wrong(f"at {answer:g}, {measured:.2%} of the pairs are true though not annotated")
    return f"at {answer:g}, {measured:.2%} of the pairs are true though not annotated"


# 02 What a caption says, and what masking hides of it.


def the_hole() -> tuple[int, SceneGraph, Span]:
    """Return picture 5, its fourth caption, and the first object phrase of that."""
    data = scenes()
    graph = data.world.graphs[int(data.captions_of_image[5][3])]
    return 5, graph, next(phrase.span for phrase in phrases(graph) if phrase.kind == "object")


@exercise("02.1")
def refilled(answer: str) -> str:
    """The new word must name something that the picture does not show. Look at the picture.

    The hidden word named a person. A girl is also a child, a kid and a person, so these words would be true.

    Say that the person is of the other sex, or put an animal in.
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
def masking_of_tags(answer: Callable) -> str:
    """Compare each phrase's number with the probability. What should happen if no number is small enough?

    The first numbers belong to the phrases. If none of them is below the probability, the last number, between 0 and 1,
    chooses one phrase: multiply it by the number of phrases and round down.

    `hidden = [p for p, number in zip(phrases, chance) if number < probability]`, and if that is empty,
    `[phrases[int(chance[-1] * len(phrases))]]`.
    """
    for at in range(0, 300, 3):
        graph = scenes().world.graphs[at]
        for probability in (0.0, 0.15, 0.6):
            (expected,) = PhraseMasking(probability).draw(graph, 1, generator=torch.Generator().manual_seed(at))
            candidates = phrases(graph)
            chance = torch.rand(1, len(candidates) + 1, generator=torch.Generator().manual_seed(at))[0].tolist()
            hidden = called(answer, candidates, chance, probability)
            if list(hidden) != expected:
                counts = f"it hides {len(hidden)} phrases of {len(candidates)}, expected {len(expected)}"
                raise Wrong(f"with p = {probability:g} and the numbers {[round(c, 2) for c in chance]}, {counts}")
    return "equal to the package's phrase masking for 100 captions at three probabilities"


@exercise("02.3")
def expected_share_of_words(answer: Callable) -> str:
    """There are two cases: at least one word was hidden by chance, or none was and one is chosen.

    A word is hidden by chance with p. With probability (1 − p)ⁿ no word is hidden; then each is chosen with 1 / n.

    `p + (1 - p) ** n / n`
    """
    inputs = [(n, p) for n in (1, 2, 5, 12) for p in (0.0, 0.15, 0.3, 1.0)]

    def expected(n: int, p: float) -> Tensor:
        return torch.tensor(WordMasking(p).expected_share(SceneGraph(tokens=("word",) * n)))

    agrees(answer, expected, inputs, tolerance=1e-5)
    five = float(answer(5, 0.3))
    return f"equal to the package; of five words {five:.1%} are hidden at p = 0.3, because at least one always is"


@exercise("02.4")
def own_masking(answer: Callable) -> str:
    """`realised_share(graph, hidden)` says how much a list of phrases hides. Stop before it becomes too much.

    Go through the phrases in a random order and hide each one that does not bring the share above one half. Hide fewer
    of them to lower the mean.

    Shuffle `phrases(graph)` with `torch.randperm(…, generator=generator)`. Add a phrase if the list with it hides at
    most half of the words, and stop as soon as the list hides a quarter.
    """
    shares = []
    for at in range(0, 500, 2):
        graph = scenes().world.graphs[at]
        hidden = called(answer, graph, torch.Generator().manual_seed(at))
        if not set(hidden) <= set(phrases(graph)):
            raise Wrong(f"it should return phrases of the graph; it fails for “{' '.join(graph.tokens)}”")
        shares.append(realised_share(graph, hidden))
        if not 0 < shares[-1] <= 0.5:
            raise Wrong(f"of “{' '.join(graph.tokens)}” it hides {shares[-1]:.0%} of the words")
    mean = sum(shares) / len(shares)
    if not 0.2 <= mean <= 0.3:
        raise Wrong(f"it hides {mean:.1%} of the words on average, wanted 20 % to 30 %")
    return f"it hides {mean:.1%} of the words on average, and at most {max(shares):.0%} of a caption"


# 03 Sentences made to be wrong.


def kinds_changed(graph: SceneGraph, sentence: str) -> set[str]:
    """Return the kinds of phrases whose words a sentence replaces."""
    before, after = ([token.lower() for token in tokens] for tokens in (graph.tokens, tokenise(sentence)))
    steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    places = {at for step, start, end, _, _ in steps if step != "equal" for at in range(start, end)}
    return {phrase.kind for phrase in phrases(graph) if places & set(range(*phrase.span))}


def difficulty_for_uniter(sentence: str) -> float:
    """Return s(I, T⁻) − s(I, T) of a sentence that was made of the exercises' caption."""
    from ..analysis.scoring import as_score, matching

    asked = matching(run("uniter"), scenes(regions=True))([PICTURE, PICTURE], [its_caption(), sentence])
    caption, negative = as_score(run("uniter"), asked).tolist()
    return negative - caption


@exercise("03.1")
def a_hard_negative(answer: str) -> str:
    """What would you overlook in a small picture yourself? Leave the main things of the sentence as they are.

    Nouns and colours are easy for this model. Try another verb.

    Replace “holding” by a verb for which the fruit would also be in the monkey's hand.
    """
    one_word_changed(its_caption(), answer)
    must_be_false(PICTURE, answer)
    more = difficulty_for_uniter(answer)
    if more <= 0:
        raise Wrong(f"false, but uniter sees it: the caption scores higher by {-more:.3f}")
    return f"false, and uniter scores it above the caption by {more:.3f}"


@cache
def made_by_rule() -> list[tuple[list[Negative], list[str]]]:
    """Return the swaps of some captions that put in no article, with the captions of their pictures."""
    data, every = scenes(), range(0, 500, 5)
    graphs, texts = [data.world.graphs[at] for at in every], [data.captions[at] for at in every]
    captions = data.captions_of(data.image_of_caption[list(every)].tolist())
    rows = vse_c(data, filtered=False)(texts, graphs, captions, generator=torch.Generator().manual_seed(0))
    plain = [[swap for swap in row if not small_words(swap)] for row in rows]
    return list(zip(plain, map(list, captions), strict=True))


def small_words(negative: Negative) -> set[str]:
    """Return the new words of a negative that name nothing, such as articles; the package's filter ignores them."""
    words = " ".join(negative.replacement).lower()
    return set(tokenise(words)) - naming(words)


@exercise("03.2")
def the_filter_of_tags(answer: Callable) -> str:
    """What is known of the picture? Only its five captions. Which new words would these captions support?

    Collect the words of all five captions in lower case. A negative stays if one of its new words
    (`negative.replacement`) is not among them.

    `said = {word for caption in image_captions for word in tokenise(caption.lower())}`, and keep a negative if
    `set(tokenise(" ".join(negative.replacement).lower())) - said` is not empty.
    """
    before = after = 0
    for negatives, image_captions in made_by_rule():
        expected = [negative.sentence for negative in without_false_negatives(negatives, image_captions)]
        answered = [negative.sentence for negative in called(answer, negatives, image_captions)]
        if missing := [sentence for sentence in expected if sentence not in answered]:
            raise Wrong(f"it drops “{missing[0]}”, whose new word is in no caption: {' '.join(image_captions)}")
        if more := [sentence for sentence in answered if sentence not in expected]:
            raise Wrong(f"it keeps “{more[0]}”, whose new words are all in the captions: {' '.join(image_captions)}")
        before, after = before + len(negatives), after + len(answered)
    return f"equal to the package's filter: {after:,} of {before:,} swaps stay"


@exercise("03.3")
def a_false_negative_that_passes(answer: str) -> str:
    """Which word would be just as true, although no caption uses it?

    Put in a wider word, or another word for the same thing, that none of the picture's five captions uses.

    A monkey is an animal, but also a …; the word needs to fit every living thing.
    """
    _, new = one_word_changed(its_caption(), answer)
    data = scenes()
    for number in data.captions_of_image[PICTURE].tolist():
        if new in map(str.lower, tokenise(data.captions[number])):
            raise Wrong(f"the filter stops it, because “{new}” occurs in “{data.captions[number]}”")
    entailed = data.world.entails(PICTURE, answer)
    if not entailed:
        raise Wrong(f"“{answer}” is {'undecided' if entailed is None else 'truly false'}: no false negative")
    return f"true of the picture, and no caption says “{new}”, so the paper's filter lets it through"


@exercise("03.4")
def a_generator(answer: Generate) -> str:
    """Two tables are enough: one of colours, one of things. Make one negative per word of the caption that is in them.

    Replace a word only by another one of its kind that is surely false: a colour or a thing that none of the picture's
    five captions mentions.

    For each word of the caption that a table holds, take the first entry of that table that occurs in none of
    `image_captions`, and make a `Negative(caption.replace(old, new))` of it.
    """
    from ..analysis.negatives import synthetic_negatives

    def make(generator: Any, **options: Any) -> Any:
        data, scorer = scenes(regions=True), run("uniter")
        return synthetic_negatives(data, range(0, 500, 10), generator, scorer=scorer, **options)

    negatives = called(make, answer)
    graphs, covered = scenes().world.graphs, sum(map(bool, negatives.negatives))
    kinds = Counter(
        kind for negative in negatives.all() for kind in kinds_changed(graphs[negative.caption], negative.sentence)
    )
    common = [kind for kind, count in kinds.items() if count >= len(negatives) / 5]
    if covered < 35:
        raise Wrong(f"it makes negatives of {covered} of 50 captions; 35 are asked for")
    if len(common) < 2:
        raise Wrong(f"it changes {', '.join(common)} phrases only; change two kinds, each in a fifth of the negatives")
    false = negatives.truth
    if false.share.of < 20 or false.share.percent < 95:
        raise Wrong(f"of {false.share.of} negatives that the world decides, {false.share.percent:.0f} % are false")
    difficulty, batch = (float(group.difficulty.mean()) for group in (negatives, make("in_batch", keep=1)))
    if difficulty <= batch:
        raise Wrong(f"a batch's hardest caption is harder for uniter: {batch:+.3f} on average, yours {difficulty:+.3f}")
    average = f"difficulty {difficulty:+.3f} on average, of a batch's hardest captions {batch:+.3f}"
    return f"{false.share.percent:.0f} % false, {average}"


@exercise("03.5")
def without_the_picture(answer: Callable) -> str:
    """What gives a made sentence away? Read a few: some name things in places where they seldom are.

    Captions of the training split tell which words stand beside one another. Give a sentence whose pairs of neighbours
    are frequent there a higher score.

    `fluency([sentence], "scenes").perplexity` of `itmlab.metrics` measures this with a language model; return it with a
    minus sign. Or count the pairs of neighbouring words in `itmlab.load("scenes", split="train").captions`.
    """
    pairs = blind_pairs()
    first, second = (torch.tensor([float(called(answer, text)) for text in side]) for side in zip(*pairs, strict=True))
    right = 100 * float((first > second).float().mean())
    if right < 70:
        raise Wrong(f"it scores {right:.0f} % of the captions above the false sentence; 70 % are asked for")
    return f"without the picture it scores {right:.0f} % of the captions above the false sentence that was made of them"


@cache
def blind_pairs() -> list[tuple[str, str]]:
    """Return captions, each with a sentence that VSE-C's rules made of it and that the world calls false."""
    from ..analysis.negatives import synthetic_negatives

    data = scenes()
    swapped = synthetic_negatives(data, range(0, 500, 4), "vse_c", keep=1)
    return [(data.captions[swap.caption], swap.sentence) for swap in swapped.all() if swap.truth is False]
