"""Haystack for benchmarks/peers.py: the pipeline of its conversational cookbook, which rewrites the question with a
model, and searches by words and by vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from haystack import Document, Pipeline, component
from haystack.components.builders import PromptBuilder
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from peer_common import BEST, CANDIDATES, SameEmbedder, SameModel, System, Task, Way, passage_text

from turnwise.types import Message

PACKAGES = ("haystack",)
REWORD = """Rewrite the question for search while keeping its meaning and key terms intact.
If the conversation history is empty, DO NOT change the query.
Use conversation history only if necessary, and avoid extending the query with your own knowledge.
If no changes are needed, output the current question as is.

Conversation history:
{% for said in history %}{{ said.role }}: {{ said.content }}
{% endfor %}
User Query: {{ query }}
Rewritten Query:"""


@component
class Reworder:
    """The local model as a generator."""

    def __init__(self, same: SameModel) -> None:
        self._same = same

    @component.output_types(query=str)
    def run(self, prompt: str) -> dict[str, str]:
        return {"query": self._same.reply([Message("user", prompt)])}


@component
class Given:
    """Passes the question through unchanged."""

    @component.output_types(query=str)
    def run(self, query: str) -> dict[str, str]:
        return {"query": query}


@component
class TextEmbedder:
    def __init__(self, same: SameEmbedder) -> None:
        self._same = same

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        return {"embedding": self._same.embed_query(text).tolist()}


def build(task: Task, embedder: SameEmbedder, model: SameModel) -> System:
    texts = [passage_text(entry) for entry in task.entries]
    vectors = embedder.embed_passages(texts)
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    store.write_documents(
        [
            Document(id=entry.id, content=text, embedding=vector.tolist())
            for entry, text, vector in zip(task.entries, texts, vectors, strict=True)
        ]
    )
    rewording, plain = searching(store, embedder, Reworder(model)), searching(store, embedder, Given())
    rewording.add_component("prompt", PromptBuilder(REWORD, required_variables="*"))
    rewording.connect("prompt.prompt", "question.prompt")

    def condensed(question: str, history: Sequence[Message]) -> list[str]:
        said = [{"role": each.role, "content": each.content} for each in history]
        return ids(rewording.run({"prompt": {"query": question, "history": said}}))

    def last_turn(question: str, _: Sequence[Message]) -> list[str]:
        return ids(plain.run({"question": {"query": question}}))

    return System(
        (
            Way("reworded by the model", condensed, asks=True),
            Way("Mixtral's rewrite", last_turn, given=True),
            Way("last turn alone", last_turn),
        ),
        PACKAGES,
    )


def searching(store: InMemoryDocumentStore, embedder: SameEmbedder, question: Any) -> Pipeline:
    """A pipeline that searches for the output of its component `question`."""
    pipeline = Pipeline()
    pipeline.add_component("question", question)
    pipeline.add_component("embed", TextEmbedder(embedder))
    pipeline.add_component("words", InMemoryBM25Retriever(store, top_k=CANDIDATES))
    pipeline.add_component("vectors", InMemoryEmbeddingRetriever(store, top_k=CANDIDATES))
    pipeline.add_component("join", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=BEST))
    pipeline.connect("question.query", "words.query")
    pipeline.connect("question.query", "embed.text")
    pipeline.connect("embed.embedding", "vectors.query_embedding")
    pipeline.connect("words.documents", "join.documents")
    pipeline.connect("vectors.documents", "join.documents")
    return pipeline


def ids(result: dict[str, Any]) -> list[str]:
    return [found.id for found in result["join"]["documents"]]
