"""How the product answers: does it repeat itself, does it know when it does not know, and are its citations right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from turnwise.app import engine_over
from turnwise.dialogue.citing import abstains
from turnwise.engine import Engine
from turnwise.errors import TurnwiseError
from turnwise.evaluation import data
from turnwise.evaluation.library import Libraries
from turnwise.evaluation.metrics import Tally, mean, repeated
from turnwise.evaluation.retrieval import overlaps
from turnwise.evaluation.suites import Figures, Product, Progress, chosen, watched
from turnwise.index.embedded import EmbeddedIndex
from turnwise.sqlite import Database
from turnwise.store.embedded import EmbeddedStore
from turnwise.text import sentences, without_citations
from turnwise.types import Embedder, Reply, TurnRequest

REPEATS = 0.13  # share of an answer's 4-grams said before: 95 of 100 answers that people wrote stay below
FIRST = 3  # passages that are cited unread, to compare with

_WHAT_IT_IS = re.compile(
    r"(?:(?:the|an?) )?(?:[\w’'()-]+ ){1,6}(?:is|are|was|were|refers? to) (?:an?|the|one of|defined as)\b", re.I
)
_ASKS_WHAT_IT_IS = re.compile(r"\b(?:what|who)(?:['’]?s| is| are| was| were)\b|\bdefine|\bdefinition|\bmeans?\b", re.I)


def answer(
    folder: Path, only: tuple[str, ...], progress: Progress, cache: Path, embedder: Embedder, product: Product
) -> dict[str, Figures]:
    """Figures by collection: of conversations over passages, and of turns whose place in a document is known."""
    libraries = Libraries(cache, embedder, progress)
    parts: dict[str, Callable[[], Figures]] = {}
    for collection in data.collections(folder):
        if collection.corpora:
            parts[collection.name] = partial(_conversations, collection, libraries, product, progress)
        elif collection.documents:
            parts[collection.name] = partial(_citations, collection, libraries, product, progress)
    return {name: part() for name, part in chosen(parts, only).items()}


@contextmanager
def _engine(index: EmbeddedIndex, product: Product) -> Iterator[Engine]:
    """The product over a collection; its conversations are forgotten afterwards."""
    with TemporaryDirectory() as folder:
        store = EmbeddedStore(Database(Path(folder) / "conversations.db"))
        with engine_over(product.settings, index, store, product.senses, product.reranker) as engine:
            yield engine


# --- conversations ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Said:
    """A turn, what we answered, None where it was refused or failed, and what we answered before it in the same
    conversation."""

    turn: data.LabelledTurn
    reply: Reply | None
    earlier: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.reply.text if self.reply else ""

    @property
    def abstained(self) -> bool:
        return abstains(self.text)

    @property
    def answered(self) -> bool:
        return self.reply is not None and not self.abstained


def _conversations(held: data.Collection, libraries: Libraries, product: Product, progress: Progress) -> Figures:
    """Every turn of every conversation in order, with our own earlier answers as history."""
    turns = sorted(data.labelled_turns(held.turns), key=lambda each: (each.domain, each.conversation, each.turn))
    said: list[Said] = []
    for domain, in_domain in groupby(turns, key=lambda each: each.domain):
        if domain not in held.corpora:
            continue
        name = f"{held.name}/{domain}"
        with (
            libraries.of_passages(name, data.entries(held.corpora[domain])) as index,
            _engine(index, product) as engine,
        ):
            said += _talked(list(in_domain), engine, name, progress)
    return talk_figures(said)


def _talked(turns: list[data.LabelledTurn], engine: Engine, name: str, progress: Progress) -> Iterator[Said]:
    earlier: dict[str, tuple[str, ...]] = {}
    for turn in watched(turns, name, progress):
        reply = _reply(engine, TurnRequest(turn.question, conversation_id=turn.conversation))
        before = earlier.get(turn.conversation, ())
        said = Said(turn, reply, before)
        earlier[turn.conversation] = (*before, said.text) if said.text else before
        yield said


def _reply(engine: Engine, request: TurnRequest) -> Reply | None:
    """The answer of a turn; None where there is none, for it was refused or it failed."""
    try:
        return engine.run(engine.answer(request))
    except TurnwiseError:
        return None


def talk_figures(said: Sequence[Said]) -> Figures:
    """Of later turns: the share that repeats, and that opens with what the thing is though nobody asked. Of all: how
    well it abstains on what cannot be answered, and how much of what can be answered it does answer."""
    later = [each for each in said if each.earlier]
    asked = [each for each in later if not _ASKS_WHAT_IT_IS.search(each.turn.question)]
    unanswerable = Tally(
        sum(each.abstained for each in said if each.turn.answerability == "UNANSWERABLE"),
        sum(each.abstained for each in said if each.turn.answerability in ("UNANSWERABLE", "ANSWERABLE")),
        sum(each.turn.answerability == "UNANSWERABLE" for each in said),
    )
    return {
        "n": len(said),
        "unanswered": sum(each.reply is None for each in said),
        "repeating_turns": mean(repeated(each.text, each.earlier) > REPEATS for each in later),
        "definition_openings": mean(opens_with_what_it_is(each.text) for each in asked),
        "abstention_f1": unanswerable.f1,
        "abstention_precision": unanswerable.precision,
        "abstention_recall": unanswerable.recall,
        "answered_answerable": mean(each.answered for each in said if each.turn.answerability == "ANSWERABLE"),
    }


def opens_with_what_it_is(text: str) -> bool:
    """Whether an answer begins as a first introduction does: "BERT is a language model …"."""
    first = next(iter(sentences(without_citations(text))), "")
    return bool(_WHAT_IT_IS.match(first))


# --- citations ----------------------------------------------------------------------------------------------------


def _citations(held: data.Collection, libraries: Libraries, product: Product, progress: Progress) -> Figures:
    """The share of cited passages that overlap a gold span, beside that of the first passages found."""
    assert held.documents is not None
    queries = data.span_queries(held.turns)
    unanswered = 0
    cited: list[bool] = []
    first: list[bool] = []
    with libraries.of_documents(held.name, data.entries(held.documents)) as index, _engine(index, product) as engine:
        for query in watched(queries, held.name, progress):
            reply = _reply(engine, TurnRequest(query.asked.question, query.asked.history))
            unanswered += reply is None
            passages = [index.passage(source.passage_id) for source in (reply.sources if reply else ())]
            cited += [overlaps(passage, query) for passage in passages if passage]
            found = product.finds(query.asked, FIRST, index)
            first += [overlaps(hit.passage, query) for hit in found]
    return {
        "n": len(queries),
        "unanswered": unanswered,
        "citation_precision": mean(cited),
        "citation_precision_first3": mean(first),
        "citations": len(cited),
    }
