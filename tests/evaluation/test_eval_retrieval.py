"""The retrieval suite on a few made-up passages and documents, with the product's index and embedder."""

import logging
from collections.abc import Callable, Sequence
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from turnwise.config import Settings
from turnwise.documents.chunk import chunk
from turnwise.errors import BadRequest
from turnwise.evaluation import retrieval as suite
from turnwise.evaluation.data import Entry, PassageQuery, Question, SpanQuery
from turnwise.evaluation.library import Libraries, by_document, plain_text_document
from turnwise.evaluation.run import cache_folder, run
from turnwise.evaluation.suites import Product
from turnwise.turn.understand import Senses
from turnwise.types import Passage

Write = Callable[..., Path]
Asked = Callable[..., dict[str, Any]]

BIRDS = {
    "owl": "Owls hunt at night. Their soft feathers make the flight of an owl silent.",
    "penguin": "Penguins cannot fly. They swim with their wings and eat fish and krill.",
    "hummingbird": "A hummingbird hovers in front of flowers and drinks nectar.",
    "eagle": "Eagles build large nests, called eyries, on cliffs and in tall trees.",
    "ostrich": "The ostrich is the heaviest bird and runs at seventy kilometres an hour.",
    "crow": "Crows solve puzzles and use sticks as tools to reach food.",
    "swan": "Swans keep one partner and defend their nest against intruders.",
    "parrot": "Parrots imitate human speech and can live for sixty years.",
    "pigeon": "Homing pigeons carried letters and find their way over great distances.",
    "kiwi": "The kiwi lives in New Zealand, has no tail, and lays a very large egg.",
}
METALS = {
    "iron": "Iron rusts when it meets water and oxygen.",
    "copper": "Copper conducts electricity well and turns green over the years.",
    "mercury": "Mercury is the only metal that is liquid at room temperature.",
    "gold": "Gold does not corrode and has been used for coins.",
    "aluminium": "Aluminium is light and is made from bauxite by electrolysis.",
    "lead": "Lead is heavy, soft and poisonous.",
    "tungsten": "Tungsten has the highest melting point of all metals.",
    "tin": "Tin and copper together make bronze.",
    "zinc": "Zinc protects steel from rust.",
    "lithium": "Lithium is used in rechargeable batteries.",
}
PENSION = "\n\nWhen you may retire \nYou may retire at sixty-five, or earlier with a smaller pension. \n\n" + (
    "Ask the office for a forecast of your pension and its amount. " * 20
)
PASSPORT = (
    "\n\nRenewing a passport \nSend the old passport and two photographs by post. \n\nFees \nA renewal costs ninety."
)


@pytest.fixture
def bench(write: Write, folder: Path, asked: Asked) -> Path:
    write("mtrag/corpus/clapnq.jsonl.gz", *({"_id": key, "title": "", "text": text} for key, text in BIRDS.items()))
    write("mtrag/corpus/metals.jsonl", *({"_id": key, "title": key, "text": text} for key, text in METALS.items()))
    write("mtrag/corpus/unasked.jsonl", {"_id": "x", "title": "", "text": "Nobody asks about this."})
    owls = ("Why is the flight of an owl silent?", "Its feathers are soft.")
    write(
        "mtrag/turns.jsonl",
        asked(1, "Why is the flight of an owl silent?", domain="clapnq", qrels={"owl": 1}, mixtral_rewrite=None),
        asked(2, "And what do penguins eat?", *owls, domain="clapnq", qrels={"penguin": 1, "gone": 1},
              mixtral_rewrite="What do penguins eat?"),
        asked(2, "When does it hunt?", *owls, domain="clapnq", qrels={"owl": 1},
              mixtral_rewrite="When does an owl hunt?"),
        asked(3, "Thanks!", *owls, domain="clapnq", qrels={}),
        asked(1, "Which metal is liquid at room temperature?", domain="metals", qrels={"mercury": 1}),
    )  # fmt: skip
    write("doc2dial/documents.jsonl", {"_id": "Pensions#1", "text": PENSION}, {"_id": "Passports#1", "text": PASSPORT})
    gold = "Send the old passport and two photographs by post. "
    start = PASSPORT.index(gold)
    write(
        "doc2dial/turns.jsonl.gz",
        asked(1, "How do I renew a passport?", gold_doc="Passports#1", gold_start=[start], gold_text=[gold]),
        asked(3, "How many photographs?", "How do I renew a passport?", "By post.",
              gold_doc="Passports#1", gold_start=[start], gold_text=[gold]),
    )  # fmt: skip
    return folder


def test_the_whole_suite(bench: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    told: list[tuple[str, int, int]] = []
    with caplog.at_level(logging.WARNING):
        figures = run("retrieval", bench, cache=tmp_path / "cache", progress=lambda *step: told.append(step))

    assert list(figures) == ["doc2dial", "mtrag/clapnq", "mtrag/metals", "mtrag/mean"]
    assert list(figures["mtrag/clapnq"]) == ["last_turn", "given_rewrite", "turnwise"]
    assert list(figures["mtrag/metals"]) == ["last_turn", "turnwise"]  # no rewrite is given there
    assert list(figures["doc2dial"]) == ["last_turn", "whole_history", "turnwise"]

    birds = figures["mtrag/clapnq"]["given_rewrite"]
    penguin = 1 / (1 + 1 / log2(3))  # found first, but one of its two passages is not in the corpus
    assert birds == {
        "n": 3,
        "ndcg@5": pytest.approx((2 + penguin) / 3, abs=1e-4),
        "recall@5": pytest.approx(2.5 / 3, abs=1e-4),
        "ndcg@5_first": 1.0,
        "ndcg@5_later": pytest.approx((1 + penguin) / 2, abs=1e-4),
        "recall@5_later": 0.75,
    }
    assert figures["mtrag/clapnq"]["turnwise"].keys() == birds.keys()
    assert figures["mtrag/clapnq"]["turnwise"]["ndcg@5_first"] == 1.0
    assert figures["mtrag/metals"]["last_turn"] == {"n": 1, "ndcg@5": 1.0, "recall@5": 1.0, "ndcg@5_first": 1.0}
    assert figures["mtrag/mean"] == figures["mtrag/clapnq"]  # metals is not one of the domains that count
    assert figures["doc2dial"]["whole_history"] == {"n": 2, "recall@5": 1.0, "mrr@10": 1.0}

    assert "unasked.jsonl is left out: no turn of" in caplog.text
    assert ("mtrag/clapnq embedding", 10, 10) in told
    assert ("doc2dial whole_history", 2, 2) in told


def test_one_part_can_be_run_and_the_second_time_nothing_is_embedded(bench: Path, tmp_path: Path) -> None:
    told: list[str] = []
    for _ in range(2):
        told.append("run")
        figures = run(
            "retrieval",
            bench / "mtrag",
            cache=tmp_path / "cache",
            only=("metals",),
            progress=lambda what, *_: told.append(what),
        )
        assert list(figures) == ["mtrag/metals"]
    again = told.index("run", 1)
    assert "mtrag/metals embedding" in told[:again]
    assert "mtrag/metals embedding" not in told[again:]
    with pytest.raises(BadRequest, match="no 'music'"):
        run("retrieval", bench, cache=tmp_path / "cache", only=("music",))


class CountingEmbedder:
    """Vectors of no meaning. It is interrupted at the batch it is told to be, as by Ctrl-C."""

    name = "counting"
    dimension = 4

    def __init__(self, interrupted_at: int = 0) -> None:
        self.texts: list[str] = []
        self._left = interrupted_at

    def embed_query(self, _: str) -> Any:
        return np.ones(4, dtype=np.float32) / 2

    def embed_passages(self, texts: Sequence[str]) -> Any:
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt
        self.texts += texts
        return np.ones((len(texts), 4), dtype=np.float32) / 2


def test_an_interrupted_run_goes_on_where_it_was(bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwise.documents.ingest.EMBED_BATCH_PASSAGES", 4)

    def embedded(embedder: CountingEmbedder) -> int:
        suite.retrieval(
            bench, ("clapnq",), lambda *_: None, tmp_path / "cache", embedder, Product(Settings(), Senses())
        )
        return len(embedder.texts)

    stopped = CountingEmbedder(interrupted_at=2)
    with pytest.raises(KeyboardInterrupt):
        embedded(stopped)
    assert len(stopped.texts) == 4
    assert embedded(CountingEmbedder()) == 6
    assert embedded(CountingEmbedder()) == 0


def test_a_changed_corpus_is_indexed_anew(tmp_path: Path) -> None:
    for text in ("rain", "snow", "rain"):
        with Libraries(tmp_path, CountingEmbedder(), lambda *_: None).of_passages(
            "a/b", by_document([Entry("1", "", text)])
        ) as index:
            assert index.passage(1).text == text  # type: ignore[union-attr]
    assert len(list(tmp_path.glob("a-b-*-counting"))) == 2


def test_passages_are_parts_of_their_documents() -> None:
    ids = ("7_500-900-0-4", "7_20-300-0-2", "c_1-100-200", "c_1-3-99", "7_9-12", "plain", "c-1", "c_2-1-5", "c_2-6-9")
    titles = dict.fromkeys(ids, "") | {"7_500-900-0-4": "Rain", "c_2-1-5": "Fog", "c_2-6-9": "Mist"}
    documents = by_document([Entry(each, titles[each], "wet") for each in ids])
    assert {source: [each.id for each in entries] for source, entries in documents.items()} == {
        "7": ["7_9-12", "7_20-300-0-2", "7_500-900-0-4"],
        "c_1": ["c_1-3-99", "c_1-100-200"],
        "plain": ["plain"],
        "c-1": ["c-1"],
        "c_2 Fog": ["c_2-1-5"],
        "c_2 Mist": ["c_2-6-9"],
    }


def test_a_title_that_the_text_repeats_is_indexed_once(tmp_path: Path) -> None:
    entries = [Entry("1", "Rain", "Rain\nIt is wet."), Entry("2", "Snow", "It is cold."), Entry("3", "Fog", "Fog")]
    with Libraries(tmp_path, CountingEmbedder(), lambda *_: None).of_passages("a", by_document(entries)) as index:
        found = [index.passage(number) for number in (1, 2, 3)]
    assert [(passage.title, passage.text) for passage in found if passage] == [
        ("Rain", "It is wet."),
        ("Snow", "It is cold."),
        ("Fog", "Fog"),
    ]


def test_chunks_of_a_document_keep_their_offsets_and_lose_nothing() -> None:
    text = "\n\n First part \nwith two lines. \n \nSecond.\n\n\n" + "A long sentence of some words. " * 100 + "\n"
    chunks = chunk(plain_text_document("Title", text))
    assert len(chunks) > 2
    assert all(text[piece.start : piece.end] == piece.text for piece in chunks)
    assert "".join("".join(piece.text.split()) for piece in chunks) == "".join(text.split())


@pytest.mark.parametrize(
    ("source", "start", "end", "expected"),
    [
        ("d", 0, 11, True),  # overlaps by one character
        ("d", 0, 10, False),
        ("d", 19, 30, True),
        ("d", 20, 30, False),
        ("d", 12, 14, True),
        ("e", 0, 30, False),  # another document
    ],
)
def test_a_hit_overlaps_a_gold_span(source: str, start: int, end: int, expected: bool) -> None:
    passage = Passage(1, 1, "", source, "", start=start, end=end)
    query = SpanQuery(Question(1, (), "?"), "d", ((10, 20), (90, 95)))
    assert suite.overlaps(passage, query) is expected


def test_the_mean_is_over_domains_and_the_turns_are_added_up() -> None:
    def figures(turns: Sequence[int], ranking: list[str]) -> dict[str, float]:
        queries = [PassageQuery(Question(turn, (), "?"), "x", frozenset({"a"})) for turn in turns]
        return suite._passage_figures(queries, [ranking] * len(turns))

    large = figures([1, 2, 2, 2], ["a"])
    small = figures([2], ["x"])
    assert small == {"n": 1, "ndcg@5": 0.0, "recall@5": 0.0, "ndcg@5_later": 0.0, "recall@5_later": 0.0}
    assert suite._mean([{"turnwise": large}, {"turnwise": small}]) == {
        "turnwise": {
            "n": 5,
            "ndcg@5": 0.5,
            "recall@5": 0.5,
            "ndcg@5_first": 1.0,  # only one domain has a first turn
            "ndcg@5_later": 0.5,
            "recall@5_later": 0.5,
        }
    }


def test_the_cache_lies_in_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "turnwise" / "eval"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "turnwise" / "eval"
