"""Typos, corrected with the words of a library."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turnwise.dialogue.spelling import MAX_MESSAGE_CHARS, LibraryWords, Slip, correct_spelling
from turnwise.models.vocabulary import is_english
from turnwise.text import stem

TEXT = """gradient descent lowers a loss by steps; the learning rate sets their length; dropout and overfitting of
    networks; the festival of Skerryvore in August, tickets for members, backpropagation, Michelangelo, Kowalski;
    allowed late, adam and a scheme of lessons that are shared, once about openai"""
STEMS = {stem(word.strip(";,")) for word in TEXT.split()}


def held(words: Sequence[str]) -> dict[str, int]:
    return {word: 1 for word in words if stem(word) in STEMS}


LIBRARY = LibraryWords(held, TEXT.lower().replace(";", "").replace(",", "").split().__contains__)


def mended(message: str) -> str:
    return correct_spelling(message, LIBRARY, is_english)[0]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("what is graident descent?", "what is gradient descent?"),
        ("how do i avoid overftting", "how do i avoid overfitting"),
        ("Tell me about dorpout.", "Tell me about dropout."),
        ("waht is the lerning rate", "what is the learning rate"),
        ("Festval tickets?", "Festival tickets?"),
        ("why does backpropogation work", "why does backpropagation work"),
        ("when did Michelangleo paint", "when did Michelangelo paint"),
        ("and teh droppout?", "and the dropout?"),
        ("wat is dropout", "what is dropout"),
        ("Wat is dropout", "What is dropout"),
        ("wen is the festival", "when is the festival"),
        ("wich are the festival tickets", "which are the festival tickets"),
    ],
)
def test_a_slip_is_mended_where_the_library_has_the_word(typed: str, meant: str) -> None:
    assert mended(typed) == meant


@pytest.mark.parametrize(
    "message",
    [
        "specs of the login, aswell as pointers",  # English with an ending, or two words in one
        "how do I allocate memory?",  # "allowate" would have the stem of "allowed"
        "Wheat is allowed in the pool area?",
        "wheat is a grain?",
        "Wen is a surname?",
        "who invented latex",
        "what is a json schema",
        "what is adamw",
        "a lesion",
        "which shard",
        "what is a nonce",
        "softmx=3 and lerning(x)",
        "what is NumPyy",
        "what is the boat?",  # a word of its own, though "boast" or "bat" may be in a library
        "gradients and overfitted networks",  # other forms of what the library has
        "who is Kowalska?",  # a wrong letter in a name makes another name
        "what is GRAIDENT",  # an abbreviation, for all we know
        'why do they write "graident"?',
        "what does `graident()` do",
        "see graident.py, /srv/graident, graident_descent and me@graident.org",
        "what is graident2",
        "was kostet das Zimmer",
        "x" * 30,
        "graident " * (MAX_MESSAGE_CHARS // 9 + 1),
    ],
)
def test_what_may_be_meant_as_it_is_stays(message: str) -> None:
    assert correct_spelling(message, LIBRARY, is_english) == (message, [])


def test_what_was_mended_is_told_in_order_with_its_capitals() -> None:
    text, slips = correct_spelling("Graident descent and dorpout", LIBRARY, is_english)
    assert text == "Gradient descent and dropout"
    assert slips == [Slip("Graident", "Gradient"), Slip("dorpout", "dropout")]


def test_a_message_of_strange_words_is_in_a_language_that_is_not_known() -> None:
    message = "graident dorpout festval lerning overftting"
    assert mended(message) == message


@given(st.text(st.sampled_from("grdientafovl ?\"'`._-G"), max_size=40))
@example("graident")
def test_only_whole_words_change_and_mending_twice_changes_nothing_more(message: str) -> None:
    text, slips = correct_spelling(message, LIBRARY, is_english)
    assert (text != message) == bool(slips)
    for slip in slips:
        assert slip.typed in message
        assert slip.meant in text
    assert correct_spelling(text, LIBRARY, is_english) == (text, [])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("whats dropout", "what's dropout"),
        ("my lamp wont light and doesnt blink", "my lamp won't light and doesn't blink"),
        ("i cant see why it isnt on, dont know", "i can't see why it isn't on, don't know"),
        ("Whos Kowalski?", "Who's Kowalski?"),
        ("ok and wheres the festival", "ok and where's the festival"),
        ("hows a loss lowered, and whens the festival", "how's a loss lowered, and when's the festival"),
        ("its a festival, when is it", "it's a festival, when is it"),
        ("can I eat while its open", "can I eat while it's open"),
        ("what if its moved to another day", "what if it's moved to another day"),
        ("what if shes late", "what if she's late"),
    ],
)
def test_a_missing_apostrophe_is_added(typed: str, meant: str) -> None:
    assert mended(typed) == meant


@pytest.mark.parametrize(
    "message",
    [
        "the whys and hows of dropout",
        "what is “whats new”",
        "is it on whats.example",
        "as is her wont, the cant of a roof",
        "what are its opening hours",
        "what if its loss grows",
        "what is HES used for",
        "what if its loss and gradient grow",
        "tell me its name",
    ],
)
def test_an_apostrophe_is_only_added_to_a_contraction(message: str) -> None:
    assert mended(message) == message
