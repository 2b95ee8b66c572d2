"""The suite `answer`: how often answers repeat themselves, abstain when they should, and cite the right passages."""

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
from turnwise.evaluation.library import Libraries, by_document
from turnwise.evaluation.metrics import Tally, mean, repeats
from turnwise.evaluation.retrieval import overlaps
from turnwise.evaluation.suites import Figures, Product, Progress, select_parts, with_progress
from turnwise.index.embedded import EmbeddedIndex
from turnwise.sqlite import Database
from turnwise.store.embedded import EmbeddedStore
from turnwise.text import sentences, without_citations
from turnwise.types import Embedder, Reply, TurnRequest

BASELINE_PASSAGES = 3  # the baseline for citations: cite the first passages found

_DEFINITION = re.compile(
    r"(?:(?:the|an?) )?(?:[\w’'()-]+ ){1,6}(?:is|are|was|were|refers? to) (?:an?|the|one of|defined as)\b", re.I
)
_ASKS_FOR_DEFINITION = re.compile(
    r"\b(?:what|who)(?:['’]?s| is| are| was| were)\b|\bdefine|\bdefinition|\bmeans?\b", re.I
)


def answer(
    folder: Path, only: tuple[str, ...], progress: Progress, cache: Path, embedder: Embedder, product: Product
) -> dict[str, Figures]:
    """Figures by collection: conversations for collections of passages, citations for collections of documents."""
    libraries = Libraries(cache, embedder, progress)
    parts: dict[str, Callable[[], Figures]] = {}
    for collection in data.collections(folder):
        if collection.corpora:
            parts[collection.name] = partial(_conversations, collection, libraries, product, progress)
        elif collection.documents:
            parts[collection.name] = partial(_citations, collection, libraries, product, progress)
    return {name: part() for name, part in select_parts(parts, only).items()}


@contextmanager
def _engine(index: EmbeddedIndex, product: Product) -> Iterator[Engine]:
    """The product over a collection; its conversations are deleted afterwards."""
    with TemporaryDirectory() as folder:
        store = EmbeddedStore(Database(Path(folder) / "conversations.db"))
        with engine_over(product.settings, index, store, product.senses, product.reranker) as engine:
            yield engine


# --- conversations ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """A turn, our reply (None if it was refused or failed), and our earlier answers in the same conversation."""

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


def _conversations(collection: data.Collection, libraries: Libraries, product: Product, progress: Progress) -> Figures:
    """Run every turn of every conversation in order, with our own earlier answers as history."""
    turns = sorted(data.labelled_turns(collection.turns), key=lambda each: (each.domain, each.conversation, each.turn))
    answered: list[AnsweredTurn] = []
    for domain, in_domain in groupby(turns, key=lambda each: each.domain):
        if domain not in collection.corpora:
            continue
        name = f"{collection.name}/{domain}"
        with (
            libraries.of_passages(name, by_document(data.entries(collection.corpora[domain]))) as index,
            _engine(index, product) as engine,
        ):
            answered += _converse(list(in_domain), engine, name, progress)
    return talk_figures(answered)


def _converse(turns: list[data.LabelledTurn], engine: Engine, name: str, progress: Progress) -> Iterator[AnsweredTurn]:
    earlier: dict[str, tuple[str, ...]] = {}
    for turn in with_progress(turns, name, progress):
        reply = _reply(engine, TurnRequest(turn.question, conversation_id=turn.conversation))
        before = earlier.get(turn.conversation, ())
        answered = AnsweredTurn(turn, reply, before)
        earlier[turn.conversation] = (*before, answered.text) if answered.text else before
        yield answered


def _reply(engine: Engine, request: TurnRequest) -> Reply | None:
    """The answer of a turn, or None if it was refused or failed."""
    try:
        return engine.run(engine.answer(request))
    except TurnwiseError:
        return None


def talk_figures(turns: Sequence[AnsweredTurn]) -> Figures:
    """For later turns, the share that repeats earlier answers and the share that opens with a definition nobody asked
    for. For all turns, how well unanswerable questions are declined and how many answerable ones are answered."""
    later = [each for each in turns if each.earlier]
    no_definition_asked = [each for each in later if not _ASKS_FOR_DEFINITION.search(each.turn.question)]
    unanswerable = Tally(
        sum(each.abstained for each in turns if each.turn.answerability == "UNANSWERABLE"),
        sum(each.abstained for each in turns if each.turn.answerability in ("UNANSWERABLE", "ANSWERABLE")),
        sum(each.turn.answerability == "UNANSWERABLE" for each in turns),
    )
    return {
        "n": len(turns),
        "unanswered": sum(each.reply is None for each in turns),
        "repeating_turns": mean(repeats(each.text, each.earlier) for each in later),
        "definition_openings": mean(opens_with_definition(each.text) for each in no_definition_asked),
        "abstention_f1": unanswerable.f1,
        "abstention_precision": unanswerable.precision,
        "abstention_recall": unanswerable.recall,
        "answered_answerable": mean(each.answered for each in turns if each.turn.answerability == "ANSWERABLE"),
    }


def opens_with_definition(text: str) -> bool:
    """Whether an answer begins with a definition: "BERT is a language model …"."""
    first = next(iter(sentences(without_citations(text))), "")
    return bool(_DEFINITION.match(first))


# --- citations ----------------------------------------------------------------------------------------------------


def _citations(collection: data.Collection, libraries: Libraries, product: Product, progress: Progress) -> Figures:
    """The share of cited passages that overlap a gold span, and as a baseline that of the first passages found."""
    assert collection.documents is not None
    queries = data.span_queries(collection.turns)
    unanswered = 0
    cited: list[bool] = []
    first: list[bool] = []
    with (
        libraries.of_documents(collection.name, data.entries(collection.documents)) as index,
        _engine(index, product) as engine,
    ):
        for query in with_progress(queries, collection.name, progress):
            reply = _reply(engine, TurnRequest(query.asked.question, query.asked.history))
            unanswered += reply is None
            passages = [index.passage(source.passage_id) for source in (reply.sources if reply else ())]
            cited += [overlaps(passage, query) for passage in passages if passage]
            hits = product.find_for_turn(query.asked, BASELINE_PASSAGES, index)
            first += [overlaps(hit.passage, query) for hit in hits]
    return {
        "n": len(queries),
        "unanswered": unanswered,
        "citation_precision": mean(cited),
        "citation_precision_first3": mean(first),
        "citations": len(cited),
    }
