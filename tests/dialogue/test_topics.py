"""Topics: named ones in all inflections, those of a library, and the subject of a text without its markup."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import within

from turnwise.app import build
from turnwise.config import Settings
from turnwise.dialogue.presets import load_preset
from turnwise.dialogue.topics import Vocabulary, library_vocabulary, plain_text, subject_of, subject_of_answer

TUTOR = Vocabulary(load_preset("tutor").topics.items())


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("What is overfitting?", ("overfitting",)),
        ("Why does my model overfit?", ("overfitting",)),
        ("It overfits, or is it underfitted?", ("overfitting",)),
        ("Explain classification", ("classification",)),
        ("Which classifier should I take to classify mail?", ("classification",)),
        ("What are activation functions?", ("activations",)),
        ("ReLU or sigmoid?", ("activations",)),
        ("Gradient-descent", ("gradient descent",)),
        ("a neural net", ("neural networks",)),
        ("NEURAL NETWORKS", ("neural networks",)),
        ("back-propagation", ("backpropagation",)),
        ("how does backprop work", ("backpropagation",)),
        ("k-means clusters", ("clustering",)),
        ("linear regression", ("regression",)),
        ("Is a cost function a loss function?", ("loss functions",)),
        ("什么是过拟合", ("overfitting",)),
    ],
)
def test_a_named_topic_is_found_in_its_inflections(text: str, topics: tuple[str, ...]) -> None:
    """A pattern that ends in a word boundary after a stem would miss “overfitting” and “classification”."""
    assert TUTOR.find(text) == topics


@pytest.mark.parametrize("text", ["What is a festival?", "my account was activated", "a declassified file", ""])
def test_other_words_are_no_topics(text: str) -> None:
    assert TUTOR.find(text) == ()


def test_topics_come_in_order_of_mention_and_not_of_the_table() -> None:
    assert TUTOR.find("Can overfitting be seen in backpropagation, or gradient descent, or overfitting?") == (
        "overfitting",
        "backpropagation",
        "gradient descent",
    )


def test_the_longest_phrase_is_meant() -> None:
    assert TUTOR.find("logistic regression") == ("classification",)


# --- the library's own terms --------------------------------------------------------------------------------------

LIBRARY = library_vocabulary(
    ["Customer handbook", "BERT", "Deep residual learning for image recognition"],
    ["Refund policy", "Delivery > Express shipping", "How it works", "Introduction", "Uses", "What is new?"],
)


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("what is your refund policy for shoes", ("refund policy",)),
        ("are there two refund policies", ("refund policies",)),
        ("how long does express shipping take", ("express shipping",)),
        ("does bert do image recognition", ("bert", "image recognition")),
        ("how does it work, and what are its uses", ()),
        ("give me an introduction", ()),
    ],
)
def test_a_title_or_a_heading_that_names_something_is_a_topic_as_the_user_writes_it(
    text: str, topics: tuple[str, ...]
) -> None:
    assert LIBRARY.find(text) == topics


def test_a_library_tells_its_titles_and_headings_anew_only_when_it_has_changed(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "shop.md").write_text("# Shop\n\n## Refund policy\n\nMoney comes back in a week.\n")
    with build(Settings(library=str(tmp_path / "library")), create=True) as engine:
        assert engine.index.terms() == ((), ())
        engine.add(documents)
        first = engine.index.terms()
        assert first[0] == ("Shop",)
        assert any("Refund policy" in heading for heading in first[1])
        assert engine.index.terms() is first
        (documents / "shop.md").write_text("# Store\n\nMoney stays.\n")
        engine.add(documents)
        assert engine.index.terms()[0] == ("Store",)
        reply = engine.chat().ask("does the store keep money?")
        assert reply.state.topics == ("store",)


# --- a text itself ------------------------------------------------------------------------------------------------

PAGE = """<style>.card { margin: 10px; color: #fff } @media print { div { padding: 2px } }</style>
<script>var colour = "red"; function show() { return colour; }</script>
<div class="card" style="font-size: 12px; color: red"><h2>Edifest</h2>
<p>Edifest is our <b>annual festival</b> &amp; fair [1].</p></div>"""


@pytest.mark.parametrize(
    ("answer", "topic"),
    [
        (PAGE, "Edifest"),
        ("margin: 10px; color: red; Edifest is a festival.", "Edifest"),
        (".card { margin: 0; padding: 4px }\nThe library card is free.", "library card"),
        ("## Field trips\n\n- **Monday**: the [museum](https://example.org/color.css)", "Field trips"),
        ("```css\ndiv { color: red }\n```\nStyle sheets cascade.", "Style sheets cascade"),
        ("<!-- color --> <span>Photosynthesis</span> is slow.", "Photosynthesis"),
        ("| Point | Source |\n|---|---|\n| Storks nest on chimneys | [1] |", "Storks nest"),
        ("<div class='x'><br></div>", ""),
        ("<style>body { color: red", ""),
        ("<div>10px div span class</div>", ""),
        ("color margin px div", ""),
        ("2024 [1]", ""),
        ("It is.", ""),
        ("", ""),
    ],
)
def test_an_answers_topic_holds_nothing_of_its_markup(answer: str, topic: str) -> None:
    assert subject_of_answer(answer) == topic


def test_the_prose_of_a_page_is_what_a_reader_reads() -> None:
    assert " ".join(plain_text(PAGE).split()) == "Edifest Edifest is our annual festival & fair ."


def test_a_word_of_style_sheets_can_be_what_a_person_asks_about() -> None:
    assert subject_of("What is margin trading?") == "margin trading"
    assert subject_of("```\nprint(1)\n```") == ""
    assert subject_of("10px?") == ""


@pytest.mark.parametrize(
    "piece",
    ["<style", "<style>", "<!--", "```", "{", "a{", "{a:", ";a", "color:", "[a](", "`a", "<a ", "&", "*_", "|-", "#"],
)
def test_hostile_markup_takes_time_in_proportion(piece: str) -> None:
    with within(2):
        subject_of_answer(piece * 20_000)
        TUTOR.find(plain_text(piece * 20_000))


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    for topic in (subject_of(text), subject_of_answer(text)):
        assert topic == "" or any(map(str.isalpha, topic))
        assert "\n" not in topic
    assert len(plain_text(text)) <= 2 * len(text) + 10
