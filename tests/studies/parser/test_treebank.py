"""From a treebank to training documents: CoNLL-U read strictly, captions made from sentences and from scene graphs."""

import gzip
import random
from pathlib import Path

import pytest

from itmlab.errors import ItmlabError
from itmlab.studies.parser import captionlike
from itmlab.studies.parser.captions import caption_trees, read_factual
from itmlab.studies.parser.conllu import Sentence, Word, doc_of, kept_features, read_conllu, text_of
from itmlab.studies.parser.scores import parsing_scores
from itmlab.studies.parser.treebank import augmented, prepare, train
from itmlab.text.parsing import load_pipeline
from tests.refusals import refused

SENTENCES = """\
# sent_id = 1
# text = He didn't see the old dog.
1\tHe\the\tPRON\tPRP\tCase=Nom|Number=Sing\t4\tnsubj\t_\t_
2-3\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdid\tdo\tAUX\tVBD\tTense=Past|VerbForm=Fin\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\tsee\tsee\tVERB\tVB\tVerbForm=Inf\t0\troot\t_\t_
4.1\tseen\tsee\tVERB\tVBN\t_\t_\t_\t4:x\t_
5\tthe\tthe\tDET\tDT\tDefinite=Def\t7\tdet\t_\t_
6\told\told\tADJ\tJJ\tDegree=Pos\t7\tamod\t_\t_
7\tdog\tdog\tNOUN\tNN\tNumber=Sing\t4\tobj\t_\tSpaceAfter=No
8\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_

1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tman\tman\tNOUN\tNN\tNumber=Sing\t4\tnsubj\t_\t_
3\tis\tbe\tAUX\tVBZ\tVerbForm=Fin\t4\taux\t_\t_
4\triding\tride\tVERB\tVBG\tVerbForm=Part\t0\troot\t_\t_
5\ta\ta\tDET\tDT\t_\t6\tdet\t_\t_
6\thorse\thorse\tNOUN\tNN\tNumber=Sing\t4\tobj\t_\tSpaceAfter=No
7\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_
"""


@pytest.fixture
def sentences(tmp_path) -> list[Sentence]:
    path = tmp_path / "some.conllu"
    path.write_text(SENTENCES)
    return list(read_conllu(path))


def forms(sentence: Sentence) -> str:
    return " ".join(word.form for word in sentence)


def arcs(sentence: Sentence) -> set[tuple[str, str, str]]:
    return {(word.form, word.relation, sentence[word.head].form) for word in sentence}


def test_words_of_merged_tokens_stand_together_and_empty_nodes_go(sentences):
    assert forms(sentences[0]) == "He did n't see the old dog ."
    assert text_of(sentences[0]) == "He didn't see the old dog."
    assert ("dog", "obj", "see") in arcs(sentences[0]) and ("see", "root", "see") in arcs(sentences[0])


def test_a_merged_token_whose_words_do_not_spell_it_shares_out_its_letters(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(
        "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\tIN\t_\t3\tcase\t_\t_\n2\tle\tle\tDET\tDT\t_\t3\tdet\t_\t_\n"
        "3\tchat\tchat\tNOUN\tNN\t_\t0\troot\t_\t_\n"
    )
    assert [word.form for word in next(read_conllu(path))] == ["d", "u", "chat"]


def test_gzip_is_read(tmp_path, sentences):
    path = tmp_path / "some.conllu.gz"
    path.write_bytes(gzip.compress(SENTENCES.encode()))
    assert list(read_conllu(path)) == sentences


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("1\tdog\tdog\tNOUN\n", 1, "4 columns where CoNLL-U has 10"),
        ("# a\n" + "one\tdog\tdog\tNOUN\tNN\t_\t0\troot\t_\t_\n", 2, "'one' is not a word's number"),
        ("1\tdog\tdog\tNOUN\tNN\t_\t?\troot\t_\t_\n", 1, "'\\?' is not a word's number"),
        ("2\tdog\tdog\tNOUN\tNN\t_\t0\troot\t_\t_\n", 1, "word 2 where 1 comes next"),
        ("\n1\tdog\tdog\tNOUN\tNN\t_\t7\troot\t_\t_\n", 2, "the head 7 is not in the sentence"),
        ("1\ta\ta\tX\tX\t_\t2\tx\t_\t_\n2\tb\tb\tX\tX\t_\t1\tx\t_\t_\n", 1, "a sentence has one root"),
        ("1-3\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\ta\tX\tX\t_\t0\troot\t_\t_\n", 1, "words that are not there"),
    ],
)
def test_a_bad_line_is_one_error_with_its_place(tmp_path, text, line, what):
    path = tmp_path / "bad.conllu"
    path.write_text(text)
    with pytest.raises(ItmlabError, match=what) as caught:
        list(read_conllu(path))
    assert str(caught.value).startswith(f"{path}:{line}: ") and "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe\xff", b"\x1f\x8b broken"])
def test_a_file_that_cannot_be_read_is_one_error(tmp_path, content):
    path = tmp_path / ("x.conllu.gz" if content and content[:1] == b"\x1f" else "x.conllu")
    if content is not None:
        path.write_bytes(content)
    refused(path.name, list, read_conllu(path))


def test_a_document_has_tags_heads_lemmas_and_sentence_starts(sentences):
    doc = doc_of(load_pipeline().vocab, sentences)
    assert doc.text.strip() == "He didn't see the old dog. The man is riding a horse."
    assert [sentence.root.text for sentence in doc.sents] == ["see", "riding"]
    horse = doc[-2]
    assert (horse.pos_, horse.tag_, horse.lemma_) == ("NOUN", "NN", "horse")
    assert (horse.dep_, horse.head.text) == ("obj", "riding")


def test_only_the_features_that_graphs_ask_for_are_kept():
    assert kept_features("Case=Nom|Number=Sing|Person=3", "PRON") == "Number=Sing"
    assert kept_features("Mood=Ind|Number=Sing|VerbForm=Fin", "VERB") == "VerbForm=Fin"
    assert kept_features("_", "ADP") == ""


def test_a_clause_becomes_a_noun_with_a_participle(sentences):
    (phrase,) = captionlike.participle_phrases(sentences[1], random.Random(0))
    assert forms(phrase) == "The man riding a horse"
    assert arcs(phrase) == {("The", "det", "man"), ("man", "root", "man"), ("riding", "acl", "man"),
                            ("a", "det", "horse"), ("horse", "obj", "riding")}  # fmt: skip


def test_a_pronoun_becomes_somebody_and_the_past_a_participle():
    he = Word("He", "he", "PRON", "PRP", "_", 1, "nsubj")
    drove = Word("drove", "drive", "VERB", "VBD", "_", 1, "root")
    cars = Word("cars", "car", "NOUN", "NNS", "Number=Plur", 1, "obj")
    (phrase,) = captionlike.participle_phrases((he, drove, cars), random.Random(1))
    *someone, driving, last = phrase
    assert driving.form == "driving" and driving.xpos == "VBG" and phrase[driving.head].upos == "NOUN"
    assert last.form == "cars" and phrase[last.head] is driving
    assert someone and sum(word.head == place for place, word in enumerate(phrase)) == 1


def test_a_negated_clause_is_not_turned_around(sentences):
    assert not list(captionlike.participle_phrases(sentences[0], random.Random(0)))


def test_noun_phrases_are_cut_out(sentences):
    assert [forms(phrase) for phrase in captionlike.noun_phrases(sentences[0])] == ["the old dog"]


def test_the_final_stop_goes_and_comes(sentences):
    bare = captionlike.without_final_stop(sentences[1])
    assert forms(bare) == "The man is riding a horse"
    assert text_of(captionlike.with_stop(bare, spaced=True)).endswith("horse .")
    assert text_of(captionlike.with_stop(bare, spaced=False)).endswith("horse.")


FORMS = {"ride": "riding", "sit": "sitting", "lie": "lying", "see": "seeing", "play": "playing", "show": "showing"}


@pytest.mark.parametrize("lemma", FORMS)
def test_the_participle_of_a_verb(lemma):
    assert captionlike.ing(lemma) == FORMS[lemma]


def test_augmentation_keeps_every_sentence_and_is_a_function_of_the_seed(sentences):
    many = sentences * 20
    groups = list(augmented(many, seed=3))
    assert groups == list(augmented(many, seed=3)) and groups != list(augmented(many, seed=4))
    plain = [sentence for group in groups for sentence in group]
    assert all(plain.count(sentence) >= 20 for sentence in sentences)
    assert {True, False} == {text_of(sentence)[0].isupper() for sentence in plain}
    for sentence in plain:
        assert sum(word.head == place for place, word in enumerate(sentence)) == 1
        assert all(0 <= word.head < len(sentence) for word in sentence)


CAPTIONS = {  # a caption, its graph, and each word of its tree with its label and its head
    "a brown dog sitting on the green grass .": (
        "( dog , is , brown ) , ( grass , is , green ) , ( dog , sit on , grass )",
        "dog root dog, sitting acl dog, on case grass, grass obl sitting, green amod grass, brown amod dog, a det dog, "
        "the det grass, . punct dog",
    ),
    "the man is wearing a shirt": (
        "( man , wear , shirt )",
        "wearing root wearing, man nsubj wearing, is aux wearing, a det shirt, shirt obj wearing, the det man",
    ),
    "cliff surrounded by water": (
        "( water , surround , cliff )",
        "cliff root cliff, surrounded acl cliff, by case water, water obl:agent surrounded",
    ),
    "cup on top of a table": (
        "( cup , on top of , table )",
        "cup root cup, on case top, top nmod cup, of case table, a det table, table nmod top",
    ),
    "the shirt is red": ("( shirt , is , red )", "red root red, is cop red, shirt nsubj red, the det shirt"),
    "there are two dogs": ("( dogs , is , 2 )", "are root are, there expl are, dogs nsubj are, two nummod dogs"),
}
COLOURS = tuple(Word(name, name, "ADJ", "JJ", "_", 0, "root") for name in ("red", "brown", "green"))


@pytest.mark.parametrize("caption", CAPTIONS)
def test_a_caption_that_its_graph_explains_has_one_tree(tmp_path, caption):
    graph, tree = CAPTIONS[caption]
    (found,) = caption_trees(read_factual(factual(tmp_path, caption, graph)), [COLOURS])
    assert arcs(found) == {tuple(cell.split()) for cell in tree.split(", ")}


@pytest.mark.parametrize("caption", ["dog qwertying grass", "dog on", "the dog sees that a cat is red", "dog"])
def test_a_caption_with_an_unexplained_word_is_left_out(tmp_path, caption):
    path = factual(tmp_path, caption, "( dog , sit on , grass )")
    assert not list(caption_trees(read_factual(path), [COLOURS]))


def test_a_file_without_graphs_is_one_error(tmp_path):
    (tmp_path / "a.csv").write_text("caption\na dog\n")
    refused("not captions with scene graphs", read_factual, tmp_path / "a.csv")


def factual(folder: Path, caption: str, graph: str) -> Path:
    path = folder / "captions.csv"
    path.write_text(f'image_id,region_id,caption,scene_graph\n1,1,{caption},"{graph}"\n')
    return path


def test_scores_of_a_perfect_reading_are_full_and_raw_text_finds_the_words(sentences):
    pipeline = load_pipeline()
    given = parsing_scores(pipeline, sentences, raw_text=False)
    raw = parsing_scores(pipeline, sentences, raw_text=True)
    assert given.words == raw.words == 100
    assert given == raw and given.upos >= 90 and given.las >= 70


def test_a_pipeline_can_be_trained_from_the_command(tmp_path, sentences):
    for split in ("train", "dev"):
        (tmp_path / f"{split}.conllu").write_text((SENTENCES + "\n") * 8)
    train(tmp_path, tmp_path / "made", captions=None, steps=4, seed=1)
    document = load_pipeline(str(tmp_path / "made"))("The man is riding a horse.")
    assert len(document) == 7 and all(token.pos_ and token.dep_ for token in document)


def test_a_folder_that_is_no_pipeline_is_never_replaced(tmp_path):
    refused("holds no pipeline", train, tmp_path, tmp_path)


def test_prepared_documents_are_plain_and_the_same_for_the_same_seed(tmp_path):
    (tmp_path / "train.conllu").write_text(SENTENCES)
    (tmp_path / "dev.conllu").write_text(SENTENCES)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        prepare(tmp_path, tmp_path / name, seed=5)
    assert (tmp_path / "one" / "train.spacy").read_bytes() == (tmp_path / "two" / "train.spacy").read_bytes()
