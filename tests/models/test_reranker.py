from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.errors import WeightsError
from turnwise.models import reranker, weights
from turnwise.models.reranker import STUDENT, TEACHER, OnnxReranker, choose, pieces, rarity, title_line
from turnwise.types import Passage

HEART = "The heart pumps blood through the arteries."
BREAD = "Sourdough rises by wild yeast and bacteria."
PEACE = "The Treaty of Westphalia was signed in 1648."


@pytest.fixture(
    scope="module",
    params=["quality", "small"],
)
def ranker(request: pytest.FixtureRequest) -> OnnxReranker:
    return OnnxReranker(quality=request.param == "quality", threads=1)


def passage(text: str, title: str = "", heading: str = "") -> Passage:
    return Passage(1, 1, title, "", text, heading)


def test_what_answers_the_question_scores_highest(ranker: OnnxReranker) -> None:
    scores = ranker.scores("What makes bread leaven naturally?", [passage(text) for text in (HEART, BREAD, PEACE)])
    assert scores.index(max(scores)) == 1
    scores = ranker.scores(
        "When was the peace of Westphalia signed?", [passage(text) for text in (HEART, BREAD, PEACE)]
    )
    assert scores.index(max(scores)) == 2


def test_what_is_on_the_subject_and_does_not_answer_is_told_from_what_does() -> None:
    """The second output of our own network: likely (above 0) for an answer in other words, unlikely beside it."""
    returns = "Returns are accepted within 30 days of delivery."
    shop = [
        passage(returns),
        passage("Returns are sent to the warehouse in Leeds."),
        passage("The shop opens at nine."),
    ]
    odds = OnnxReranker(threads=1).odds("How long do I have to send something back?", shop)
    assert odds[0] > 0 > max(odds[1:])
    (where,) = OnnxReranker(threads=1).odds("Where do returns go?", shop[1:2])
    assert where > 0


def test_a_score_does_not_depend_on_the_order(ranker: OnnxReranker) -> None:
    three = [passage(text) for text in (HEART, BREAD, PEACE)]
    scores = ranker.scores("How does bread rise?", three)
    assert ranker.scores("How does bread rise?", three[::-1]) == scores[::-1]


def test_the_title_and_the_heading_count(ranker: OnnxReranker) -> None:
    text = "It was founded in 1209 by scholars who left the town after a dispute."
    with_title = passage(text, "University of Cambridge", "History")
    without, told = ranker.scores("When was the University of Cambridge founded?", [passage(text), with_title])
    assert told > without


def test_the_answer_is_found_at_the_end_of_a_long_passage(ranker: OnnxReranker) -> None:
    filling = "The old mill stands by the river, and visitors come to see its wheel in summer. " * 20
    long = passage(filling + "Sourdough rises by wild yeast and bacteria.")
    scores = ranker.scores("What makes sourdough rise?", [passage(filling), long])
    assert scores[1] > scores[0] + 2


@pytest.mark.parametrize("text", ["", "\ud800", "\0", "x" * 20_000, "🙂 " * 2000, "https://example.org/" * 9])
def test_any_text_has_a_score(ranker: OnnxReranker, text: str) -> None:
    assert len(ranker.scores(text, [passage(text, text, text), passage(BREAD)])) == 2


def test_no_passages_need_no_weights(tmp_path: Path) -> None:
    assert OnnxReranker(folder=tmp_path).scores("anything", []) == []


def test_threads_share_one_load() -> None:
    ranker = OnnxReranker(quality=True, threads=1)
    assert ranker._loaded is None
    with ThreadPoolExecutor(4) as pool:
        scores = list(pool.map(lambda _: ranker.scores("How does bread rise?", [passage(BREAD)]), range(4)))
    assert all(each == scores[0] for each in scores)


def test_weights_that_are_not_the_pinned_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(weights.PINNED_RERANKER, "model.onnx", "0" * 64)
    with pytest.raises(WeightsError, match=r"model\.onnx is not the file that was pinned"):
        OnnxReranker(quality=True).scores("anything", [passage(BREAD)])


def test_a_file_that_its_card_does_not_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="cannot be loaded"):
        OnnxReranker(folder=tmp_path).scores("anything", [passage(BREAD)])
    (tmp_path / "reranker.onnx").write_bytes(b"rubbish")
    (tmp_path / "reranker.json").write_text(json.dumps({"sha256": "0" * 64}))
    with pytest.raises(WeightsError, match="not the file that its card names"):
        OnnxReranker(folder=tmp_path).scores("anything", [passage(BREAD)])


@pytest.mark.parametrize("room", [STUDENT, TEACHER])
def test_a_pair_keeps_to_its_room(room: reranker.Room) -> None:
    model = reranker._load(weights.pinned_reranker(), TEACHER, 1)
    model._room = room
    long = passage("word " * 3000, "title " * 90, "heading " * 90)
    for question in ("short?", "a long question " * 60, ""):
        for pair in model.pairs(question, [long, passage("", "", ""), passage(BREAD)]):
            assert len(pair.ids) <= room.tokens
            assert pair.ids[0] == 101
            assert pair.ids[pair.front - 1] == pair.ids[-1] == 102


# --- what is read of a passage -----------------------------------------------------------------------------------


def test_a_piece_is_a_sentence_or_a_few() -> None:
    found = pieces("Yes. It is. " + "A sentence of some length that says a thing or two about bread. " * 2 + "w " * 300)
    assert found.texts[0].startswith("Yes. It is. A sentence")
    assert all(len(each) <= reranker.MAX_PIECE_CHARS for each in found.texts)


@given(st.text(max_size=600))
def test_pieces_hold_all_words_in_order(text: str) -> None:
    found = pieces.__wrapped__(text)
    if "http" not in text:
        assert "".join("".join(found.texts).split()) == "".join(text.split())


def test_a_rare_word_counts_for_more_than_one_that_all_have() -> None:
    held = [pieces(f"The cluster has a node. {more}") for more in ("A volume is lost.", "It runs.", "It is slow.")]
    worth = rarity("Which volume of the cluster?", held)
    assert worth["volum"] > worth["cluster"]
    assert rarity("", held) == {}


def test_what_fits_is_read_whole_and_in_order() -> None:
    found = pieces(
        " ".join(f"Sentence number {number} says something of its own about the matter." for number in range(9))
    )
    assert choose(found, {}, 10_000) == list(range(len(found.texts)))


def test_the_pieces_with_the_words_asked_for_are_read_first() -> None:
    text = " ".join(f"Sentence number {number} says something of its own about the matter." for number in range(30))
    found = pieces(text + " The heron stands in the shallow water, waiting for a fish to come by.")
    last = len(found.texts) - 1
    assert last in choose(found, rarity("Where does the heron wait?", [found]), 150)
    assert choose(found, rarity("xyzzy", [found]), 150)[0] == 0


@given(st.text(max_size=900), st.text(max_size=60), st.integers(0, 500))
def test_pieces_are_chosen_once_and_no_more_than_asked(text: str, question: str, room: int) -> None:
    found = pieces.__wrapped__(text)
    chosen = choose(found, rarity(question, [found]), room)
    assert chosen == sorted(set(chosen))
    assert len(chosen) == 1 or sum(found.sizes[number] for number in chosen) <= room


def test_title_and_heading_stand_on_one_line() -> None:
    assert title_line("Guide", "Setup > First\nsteps") == "First steps: Setup: Guide"
    assert (title_line("", "Setup"), title_line("Guide", ""), title_line("", "")) == ("Setup", "Guide", "")
