"""Exercises about sentences and what is true: notebooks 00 to 03.

There is one function per exercise. Its annotation is the type of an answer, the three paragraphs of its docstring are
the hints. It returns what was found, or raises `Wrong`. The tasks stand in the notebooks, solutions in
`notebooks/guide/solutions.md`.
"""

from collections.abc import Callable
from functools import cache
from itertools import zip_longest

import torch
from jaxtyping import Int8
from torch import Tensor

from itmlab.data import load
from itmlab.metrics.ranking import recall
from itmlab.synthesis.negative import Negative, naming, without_false_negatives
from itmlab.text.graph import SceneGraph, tokenise
from itmlab.text.masking import PhraseMasking, WordMasking, phrases, realised_share

from .. import analysis
from .judging import Wrong, agrees, called, exercise, run, scenes, scores, truth, unannotated, uniform, within, wrong_if


def labels(sentence: str | SceneGraph) -> Int8[Tensor, "image"]:
    """Return where a sentence is true (1), false (0) or undecided (−1).

    Raises:
        Wrong: it is undecided everywhere.
    """
    truth_labels = scenes().world.truth(None, [sentence])[:, 0]
    wrong_if((truth_labels == -1).all(), f"the world understands too little of “{sentence}”; use plainer words")
    return truth_labels


def must_be(label: bool, picture: int, sentence: str) -> None:
    entailed = scenes().world.entails(picture, sentence)
    actual = {True: "true", False: "false", None: "undecided"}[entailed]
    wrong_if(entailed is not label, f"the world calls “{sentence}” {actual} of picture {picture}")


def one_word_changed(sentence: str) -> tuple[int, str]:
    """Return the place and the new word of a sentence that differs from the exercises' caption in one word."""
    before, after = ([token.lower() for token in tokenise(text)] for text in (its_caption(), sentence))
    changed = [at for at, (old, other) in enumerate(zip_longest(before, after)) if old != other]
    one = len(before) == len(after) and len(changed) == 1
    wrong_if(not one, f"exactly one word should change, and none be added; the caption is “{its_caption()}”")
    return changed[0], after[changed[0]]


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
    count = int((truth_labels == 1).sum())
    wrong_if(count == 0, f"“{answer}” is true of no picture here, so no search could succeed")
    first = run("fne").search(answer, data=scenes(), k=1).image_indices[0]
    label = "right" if truth_labels[first] == 1 else "undecided"
    wrong_if(truth_labels[first] != 0, f"the best picture, {first}, is {label}")
    return f"true of {count} pictures, but not of the first that is found, {first}"


@exercise("00.2")
def recall_at_k(answer: Callable) -> str:
    """A query succeeds if at least one of its k best candidates is marked as positive.

    `scores.topk(k)` gives the places of the k best candidates of each row, `positives.gather(1, places)` says which of
    them are positive, and `any(dim=1)` says whether one is.

    `hits = positives.gather(1, scores.topk(k).indices).any(dim=1)`; the recall is 100 times the mean of `hits.float()`.
    """
    positives = uniform(8, 20) < 0.2
    positives[:, 0] = True
    inputs = [(uniform(8, 20, seed=k), positives, k) for k in (1, 3, 5)]
    equal = agrees(answer, recall, inputs, "equal to the package's recall")
    first = float(answer(scores("fne"), scenes().positives, 1))
    return f"{equal}; of the test pictures, fne finds a caption first for {first:.1f} %"


@exercise("00.3")
def a_false_negative(answer: tuple[int, int]) -> str:
    """Which pairs are true, and which are annotated? You need one that is the first but not the second.

    `data.world.truth()` is 1 where a caption (column) is true of a picture (row). `data.positives` marks the annotated
    pairs.

    `((data.world.truth() == 1) & ~data.positives).nonzero()` lists all of them, one pair per row.
    """
    return f"“{unannotated(*answer)}” is true of picture {answer[0]}, and it is not annotated"


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
    says = f"you and the world agree on {int(right)} of 10 pairs"
    wrong_if(right < 8, f"{says}; 8 are asked for")
    true = ", ".join(str(at) for at, pair in enumerate(ten_pairs(), start=1) if truth()[pair] == 1)
    return f"{says} (true: {true}); training calls all ten negative"


# 01 The scenes world.


@exercise("01.1")
def entailment(answer: tuple[str, str]) -> str:
    """Begin with a sentence about common things. Then say less.

    Put a wider word for a narrower one (an animal for a dog, a person for a girl), or leave a colour or a place out.

    A sentence such as “a girl next to a …” is true of few pictures; “a child next to an animal” is true of all of these
    and of more.
    """
    more, less = (set((labels(sentence) == 1).nonzero()[:, 0].tolist()) for sentence in answer)
    wrong_if(len(more) < 3, f"“{answer[0]}” is true of {len(more)} pictures, and should be of three or more")
    wrong_if(more - less, f"of pictures {sorted(more - less)[:3]} the first sentence is true and the second is not")
    says = f"true of {len(more)} and of {len(less)} pictures"
    wrong_if(len(less) < len(more) + 5, f"{says}: the second sentence says as much as the first")
    return f"{says}, the first among the second"


@exercise("01.2")
def a_vague_caption(answer: int) -> str:
    """Which captions leave most out? Those are true of many pictures.

    `world.truth()` has a row per picture and a column per caption. Count the ones in each column.

    `(world.truth() == 1).sum(dim=0)` counts them; take the number of a column whose count is three or more.
    """
    caption = within(answer, scenes().captions, "caption")
    count, words = int((truth()[:, caption] == 1).sum()), scenes().captions[caption]
    wrong_if(count < 3, f"“{words}” is true of fewer than three pictures: {count}")
    return f"“{words}” is true of {count} pictures"


@exercise("01.3")
def share_without_annotation(answer: Callable) -> str:
    """Two conditions must hold for a pair to count, and every pair counts in the denominator.

    A pair counts if its truth label is 1 and it is not annotated. Undecided pairs (−1) do not count as true.

    `((truth == 1) & ~positives).float().mean()`
    """
    whole = scenes().world.unannotated().share
    says = f"equal to the package's count; over the whole split it is {whole:.2%}"
    return agrees(answer, lambda *_: whole, [(truth(), scenes().positives)], says, tolerance=1e-6)


@exercise("01.4")
def a_world_of_your_own(answer: float) -> str:
    """The vaguer the captions, the more pairs are true. Is the share at 0.41 larger or smaller than the one asked for?

    Read a first guess off the figure above, then try values between the two nearest settings.

    Between 0.5 and 0.75 the share passes one in a hundred; it rises more steeply towards 0.75.
    """
    wrong_if(not 0 <= answer <= 1, f"the option is a number from 0 to 1, got {answer:g}")
    measured = load("scenes", images=240, unannotated=answer).world.unannotated().share
    says = f"at {answer:g}, {measured:.2%} of the pairs are true though not annotated"
    wrong_if(not 0.006 <= measured <= 0.014, says)
    return says


# 02 What a caption says, and what masking hides of it.


@exercise("02.1")
def refilled(answer: str) -> str:
    """The new word must name something that the picture does not show. Look at the picture.

    The hidden word named a person. A girl is also a child, a kid and a person, so these words would be true.

    Say that the person is of the other sex, or put an animal in.
    """
    data, picture = scenes(), 5
    graph = data.world.graphs[int(data.captions_of_image[picture][3])]
    span = next(phrase.span for phrase in phrases(graph) if phrase.kind == "object")
    words, tokens = (list(map(str.lower, sequence)) for sequence in (tokenise(answer), graph.tokens))
    before, after = tokens[: span.start], tokens[span.end :]
    put_in = words[len(before) : len(words) - len(after)]
    is_refilled = put_in and words == before + put_in + after
    wrong_if(not is_refilled, f"all but the hidden words should stay: {' '.join([*before, '…', *after])}")
    wrong_if(words == tokens, "those are the words that were hidden")
    must_be(False, picture, answer)
    return f"false of picture {picture}: a synthetic negative"


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
            counts = f"it hides {len(hidden)} phrases of {len(candidates)}, expected {len(expected)}"
            wrong_if(list(hidden) != expected, f"with p = {probability:g} and the numbers {chance}, {counts}")
    return "equal to the package's phrase masking for 100 captions at three probabilities"


@exercise("02.3")
def expected_share_of_words(answer: Callable) -> str:
    """There are two cases: at least one word was hidden by chance, or none was and one is chosen.

    A word is hidden by chance with p. With probability (1 − p)ⁿ no word is hidden; then each is chosen with 1 / n.

    `p + (1 - p) ** n / n`
    """

    def expected(n: int, p: float) -> float:
        return WordMasking(p).expected_share(SceneGraph(tokens=("word",) * n))

    inputs = [(n, p) for n in (1, 2, 5, 12) for p in (0.0, 0.15, 0.3, 1.0)]
    five = expected(5, 0.3)
    says = f"equal to the package; of five words {five:.1%} are hidden at p = 0.3, because at least one always is"
    return agrees(answer, expected, inputs, says)


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
        caption = " ".join(graph.tokens)
        wrong_if(set(hidden) - set(phrases(graph)), f"it should return phrases of the graph; it fails for “{caption}”")
        shares.append(realised_share(graph, hidden))
        wrong_if(not 0 < shares[-1] <= 0.5, f"of “{caption}” it hides {shares[-1]:.0%} of the words")
    mean = sum(shares) / len(shares)
    says = f"it hides {mean:.1%} of the words on average"
    wrong_if(not 0.2 <= mean <= 0.3, f"{says}, wanted 20 % to 30 %")
    return f"{says}, and at most {max(shares):.0%} of a caption"


# 03 Sentences made to be wrong.


def kinds_changed(graph: SceneGraph, sentence: str) -> set[str]:
    """Return the kinds of phrases whose words a sentence replaces."""
    words = set(map(str.lower, tokenise(sentence)))
    replaced = {at for at, token in enumerate(graph.tokens) if token.lower() not in words}
    return {phrase.kind for phrase in phrases(graph) if replaced & set(range(*phrase.span))}


@exercise("03.1")
def a_hard_negative(answer: str) -> str:
    """What would you overlook in a small picture yourself? Leave the main things of the sentence as they are.

    Nouns and colours are easy for this model. Try another verb.

    Replace “holding” by a verb for which the fruit would also be in the monkey's hand.
    """
    one_word_changed(answer)
    must_be(False, PICTURE, answer)
    asked = analysis.matching(run("uniter"), scenes(regions=True))([PICTURE, PICTURE], [its_caption(), answer])
    caption, negative = analysis.as_score(run("uniter"), asked).tolist()
    more = negative - caption
    wrong_if(more <= 0, f"false, but uniter sees it: the caption scores higher by {-more:.3f}")
    return f"false, and uniter scores it above the caption by {more:.3f}"


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
    data, before, after = scenes(), 0, 0
    swaps = analysis.synthetic_negatives(data, range(0, 500, 5), "vse_c", keep=None, filtered=False, truth=False)
    for caption, row in zip(swaps.captions, swaps.negatives, strict=True):
        negatives = [swap for swap in row if not small_words(swap)]
        (image_captions,) = data.captions_of([int(data.image_of_caption[caption])])
        expected = [negative.sentence for negative in without_false_negatives(negatives, image_captions)]
        answered = [negative.sentence for negative in called(answer, negatives, image_captions)]
        for sentence in set(expected) ^ set(answered):
            verb = "drops" if sentence in expected else "keeps"
            raise Wrong(f"it wrongly {verb} “{sentence}”; the captions are: {' '.join(image_captions)}")
        before, after = before + len(negatives), after + len(answered)
    return f"equal to the package's filter: {after:,} of {before:,} swaps stay"


@exercise("03.3")
def a_false_negative_that_passes(answer: str) -> str:
    """Which word would be just as true, although no caption uses it?

    Put in a wider word, or another word for the same thing, that none of the picture's five captions uses.

    A monkey is an animal, but also a …; the word needs to fit every living thing.
    """
    _, new = one_word_changed(answer)
    (captions,) = scenes().captions_of([PICTURE])
    same = [caption for caption in captions if new in map(str.lower, tokenise(caption))]
    wrong_if(same, f"the filter stops it, because “{new}” occurs in {same}")
    must_be(True, PICTURE, answer)
    return f"true of the picture, and no caption says “{new}”, so the paper's filter lets it through"


@exercise("03.4")
def a_generator(answer: Callable) -> str:
    """Two tables are enough: one of colours, one of things. Make one negative per word of the caption that is in them.

    Replace a word only by another one of its kind that is surely false: a colour or a thing that none of the picture's
    five captions mentions.

    For each word of the caption that a table holds, take the first entry of that table that occurs in none of
    `image_captions`, and make a `Negative(caption.replace(old, new))` of it.
    """
    data, every, scorer = scenes(regions=True), range(0, 500, 10), run("uniter")
    negatives = called(analysis.synthetic_negatives, data, every, answer, scorer=scorer)
    covered, graphs = sum(map(bool, negatives.negatives)), data.world.graphs
    changed = [kinds_changed(graphs[negative.caption], negative.sentence) for negative in negatives.all()]
    common = [kind for kind in set().union(*changed) if sum(kind in kinds for kinds in changed) >= len(changed) / 5]
    wrong_if(covered < 35, f"it makes negatives of {covered} of 50 captions; 35 are asked for")
    wrong_if(len(common) < 2, "change two kinds of phrases, each in a fifth of the negatives")
    false = negatives.truth.share
    says = f"of {false.of} negatives that the world decides, {false.percent:.0f} % are false"
    wrong_if(false.of < 20 or false.percent < 95, says)
    of_batches = analysis.synthetic_negatives(data, every, "in_batch", scorer=scorer, keep=1)
    difficulty, batch = (float(group.difficulty.mean()) for group in (negatives, of_batches))
    average = f"difficulty {difficulty:+.3f} on average, of a batch's hardest captions {batch:+.3f}"
    wrong_if(difficulty <= batch, average)
    return f"{says}; {average}"


@exercise("03.5")
def without_the_picture(answer: Callable) -> str:
    """What gives a made sentence away? Read a few: some name things in places where they seldom are.

    Captions of the training split tell which words stand beside one another. Give a sentence whose pairs of neighbours
    are frequent there a higher score.

    `fluency([sentence], "scenes").perplexity` of `itmlab.metrics` measures this with a language model; return it with a
    minus sign. Or count the pairs of neighbouring words in `itmlab.load("scenes", split="train").captions`.
    """
    data = scenes()
    swaps = analysis.synthetic_negatives(data, range(0, 500, 4), "vse_c", keep=1)
    pairs = [(data.captions[swap.caption], swap.sentence) for swap in swaps.all() if swap.truth is False]
    above = [bool(called(answer, caption) > called(answer, sentence)) for caption, sentence in pairs]
    right = 100 * sum(above) / len(above)
    says = f"without the picture it scores {right:.0f} % of the captions above the false sentence that was made of them"
    wrong_if(right < 70, f"{says}; 70 % are asked for")
    return says
