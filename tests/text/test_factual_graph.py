"""FACTUAL's strings read whole, or with a line for each piece that is not; words found where they are said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from itmlab.text.factual_graph import factual_graph, read_tuples
from itmlab.text.graph import tokenise
from itmlab.text.spotting import spot


def graph(caption: str, text: str):
    read, faults = factual_graph(text, tokenise(caption))
    assert faults == []
    return read


def said(caption: str, text: str) -> dict[str, str | None]:
    """Every lemma of the graph with the words that its span covers."""
    read = graph(caption, text)
    places = [(thing.lemma, thing.span) for thing in read.objects]
    places += [(one.lemma, one.span) for thing in read.objects for one in thing.attributes]
    places += [(link.lemma, link.span) for link in read.relations]
    return {lemma: None if span is None else read.text(span) for lemma, span in places}


def test_objects_attributes_counts_and_relations_are_read():
    caption = "two brown dogs sitting on the grass"
    read = graph(caption, "( dogs , is , 2 ) , ( dogs , is , brown ) , ( dogs , sit on , grass )")
    assert read.tuples() >= {("dog",), ("grass",), ("dog", "brown"), ("dog", "sit on", "grass")}
    dog, grass = read.objects
    assert (dog.count, dog.plural) == (2, True) and (grass.count, grass.plural) == (1, False)
    assert graph("dogs", "( dogs )").objects[0].count is None


def test_a_thing_named_twice_is_one_object():
    read = graph("a red ball and a dog", "( ball , is , red ) , ( ball , near , dog ) , ( ball , near , dog )")
    assert [thing.lemma for thing in read.objects] == ["ball", "dog"] and len(read.relations) == 1


@pytest.mark.parametrize(
    ("caption", "text", "wanted"),
    [
        ("trees growing on a lawn", "( trees , grow on , lawn )", {"tree": "trees", "grow on": "growing on"}),
        ("a man sits down on a chair", "( man , sit on , chair )", {"sit on": "sits down on"}),
        ("bags at the corner of a road", "( bags , in corner of , road )", {"in corner of": "corner of"}),
        ("a clock face", "( clock , have , face )", {"have": None, "clock": "clock", "face": "face"}),
        ("the soccer player hugs a player", "( soccer player , hug , player )", {"soccer player": "soccer player"}),
        ("the soccer player hugs a player", "( player , hug , soccer player )", {"player": "player", "hug": "hugs"}),
        ("blond girl in feild", "( girl , in , field ) , ( girl , is , blonde )", {"field": "feild"}),
        ("a guy", "( person )", {"person": None}),
        ("women and a woman", "( woman , with , women )", {"with": None}),
    ],
)  # fmt: skip
def test_each_part_is_found_where_it_is_said(caption, text, wanted):
    found = said(caption, text)
    assert {name: found[name] for name in wanted} == wanted


def test_the_same_word_said_of_two_things_is_found_beside_each():
    read = graph("a red ball and a red hat", "( hat , is , red ) , ( ball , is , red )")
    places = {thing.lemma: thing.attributes[0].span.start for thing in read.objects}
    assert places == {"ball": 1, "hat": 5}


def test_no_word_is_the_name_of_two_things():
    read = graph("a dog sees dogs", "( dog , see , dogs )")
    assert [thing.span.start for thing in read.objects] == [1, 3]


@pytest.mark.parametrize(
    ("text", "tuples", "faults"),
    [
        ("( dog , on , grass", [], 1),
        ("( dog , on ) , ( cat )", [("cat",)], 1),
        ("( dog ( cat )", [("cat",)], 1),
        ("well , ( dog , , grass ) ; ( cat , is , red )", [("cat", "is", "red")], 3),
        ("no graph at all", [], 1),
        ("( a , b , c , d )", [], 1),
        ("", [], 0),
        ("(dog,  is,brown),(cat)", [("dog", "is", "brown"), ("cat",)], 0),
    ],
)
def test_what_can_be_read_is_read_and_the_rest_is_counted(text, tuples, faults):
    reading = read_tuples(text)
    assert reading.tuples == tuples and len(reading.faults) == faults


@given(st.text(alphabet="(),. isdog9²\n", max_size=60), st.text(alphabet="dogs is9.", max_size=20))
def test_no_output_at_all_stops_the_reading(text, caption):
    read, faults = factual_graph(text, tokenise(caption))
    assert read.objects or faults or not text.strip(" ,\n")
    for thing in read.objects:
        assert thing.span is None or 0 <= thing.span.start < thing.span.end <= len(read.tokens)


def test_a_word_letter_for_letter_is_better_than_a_form_of_it():
    places = dict((span.start, score) for score, span in spot(["dog"], ["dogs", "dog", "frog", "do"]))
    assert places == {0: 0.95, 1: 1.0}
