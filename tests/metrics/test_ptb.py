"""Penn-Treebank tokens as the captioning toolkit's tokeniser cuts them (tests/real compares whole data sets)."""

import time

import pytest

from itmlab.metrics.ptb import penn_words


@pytest.mark.parametrize(
    ("caption", "words"),
    [
        ("A man can't, won't and doesn't run .", "a man ca n't wo n't and does n't run"),
        ("He'll, they've, she'd, I'm, it's", "he 'll they 've she 'd i 'm it 's"),
        ("The man's dogs' beds", "the man 's dogs beds"),
        ("it’s don’t ‘so’ “he” said", "it 's do n't so he said"),
        ("I cannot. They're gonna / wanna", "i can not they 're gon na / wan na"),
        ("rock 'n' roll, fish'n'chips and salt 'n pepper", "rock 'n' roll fish 'n' chips and salt 'n pepper"),
        ("'Tis o'clock at O'Neil's, y'all", "'t is o'clock at o'neil 's y' all"),
        ('a "quoted" \'word\' and ``more\'\'', "a quoted word and more"),
        ("two (2) [dogs] {x}", "two -lrb- 2 -rrb- -lsb- dogs -rsb- -lcb- x -rcb-"),
        ("a well-known t-shirt and walkie- talkie -x", "a well-known t-shirt and walkie talkie x"),
        ("mother-in-law's bird's-eye", "mother-in-law 's bird 's eye"),
        ("one--two — three – four ... five.. six…", "one two three four five six"),
        ("St. Louis, Mr. Smith, etc. in the U.S. at 5 p.m.", "st. louis mr. smith etc. in the u.s. at 5 p.m."),
        ("Mass. and mass. No. 5 no. five", "mass. and mass no. 5 no five"),
        ("He saw plan B. I saw it too, J. R. said", "he saw plan b. i saw it too j. r. said"),
        ("a T.V. and the letter P.", "a t.v. and the letter p"),
        ("10,000 at 3.14 5:30pm 10am 1990's $5.00 5% #1", "10,000 at 3.14 5:30 pm 10am 1990 's $ 5.00 5 % # 1"),
        ("black/white 1/2 24/7 w/ and/or", "black/white 1/2 24/7 w / and/or"),
        ("hat.The man,woman man;x 8+ i=on", "hat.the man woman man x 8 + i = on"),
        ("m&m's AT&T at&t Q&A &amp; b &lt;b&gt;", "m & m 's at&t at & t q&a & b < b >"),
        ("<b>bold</b> text", "<b> bold </b> text"),
        ("end!! what?! yes! no?", "end !! what ?! yes no"),
        ("café naïve Ünïcode 中文 日本語。", "café naïve ünïcode 中文 日本語 。"),
        ("smile 😀 :) € £5 ½ cup 50¢", "smile :-rrb- $ # 5 1/2 cup 50 cents"),
        ("soft\xadhyphen, a\xa0b\tc\u200bd", "softhyphen a b c d"),
        ("at http://a.bc/d?e=f, www.foo.com or a.b@c.de #tag", "at http://a.bc/d?e=f www.foo.com or a.b@c.de #tag"),
        ("", ""),
        (" . , ; ' \" `` -- ... ", ""),
    ],
)  # fmt: skip
def test_the_words_of_a_caption(caption, words):
    assert penn_words(caption) == words.split()


@pytest.mark.parametrize(
    "unit", [".", "(", "a.", "<", "<a ", "<!--", "a+", "-", "'", "a'", "1,", "&amp;", "@", "😀", "no. "]
)
def test_nothing_hangs(unit):
    start = time.process_time()
    penn_words(unit * 20_000)
    assert time.process_time() - start < 20  # a second at most; what is caught here would take minutes
