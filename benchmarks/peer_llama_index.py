"""LlamaIndex's condense-plus-context chat engine for benchmarks/peers.py."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage, CompletionResponse, LLMMetadata
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever
from peer_common import BEST, CANDIDATES, SameEmbedder, SameModel, System, Task, Way, passage_text

from turnwise.models.reranker import OnnxReranker
from turnwise.types import Message, Passage

PACKAGES = ("llama_index", "bm25s")


class Embedding(BaseEmbedding):  # type: ignore[misc]
    _same: Any = None

    def __init__(self, same: SameEmbedder) -> None:
        super().__init__()
        self._same = same

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._same.embed_query(query).tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._same.embed_passages([text])[0].tolist()


class Model(CustomLLM):  # type: ignore[misc]
    _same: Any = None

    def __init__(self, same: SameModel) -> None:
        super().__init__()
        self._same = same

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=8192, model_name="SmolLM2-135M-Instruct")

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:  # noqa: ARG002
        return CompletionResponse(text=self._same.reply([Message("user", prompt)]))

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        raise NotImplementedError


class Reranker(BaseNodePostprocessor):  # type: ignore[misc]
    """Turnwise's re-ranker."""

    _ours: Any = None

    def __init__(self) -> None:
        super().__init__()
        self._ours = OnnxReranker()

    def _postprocess_nodes(self, nodes: list[Any], query_bundle: Any = None) -> list[Any]:
        passages = [Passage(0, 0, node.node_id, "", node.get_content()) for node in nodes]
        scores = self._ours.scores(query_bundle.query_str, passages)
        best = sorted(zip(scores, range(len(nodes)), strict=True), reverse=True)[:BEST]
        return [nodes[place] for _, place in best]


def build(task: Task, embedder: SameEmbedder, model: SameModel) -> System:
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    Settings.embed_model, Settings.llm = Embedding(embedder), Model(model)
    Settings.tokenizer = str.split  # the default one would be downloaded
    texts = [passage_text(entry) for entry in task.entries]
    vectors = embedder.embed_passages(texts)
    nodes = [
        TextNode(id_=entry.id, text=text, embedding=vector.tolist())
        for entry, text, vector in zip(task.entries, texts, vectors, strict=True)
    ]
    index = VectorStoreIndex(nodes)
    words = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=CANDIDATES)
    both = QueryFusionRetriever(
        [index.as_retriever(similarity_top_k=CANDIDATES), words],
        similarity_top_k=CANDIDATES,
        num_queries=1,
        mode="reciprocal_rerank",
        use_async=False,
    )
    plain, richer = index.as_retriever(similarity_top_k=BEST), (both, [Reranker()])
    return System(
        (
            Way("condensed by the model", finder(plain, [], False), asks=True),
            Way("condensed by the model, BM25 too, our re-ranker", finder(*richer, False), asks=True),
            Way("Mixtral's rewrite", finder(plain, [], True), given=True),
            Way("Mixtral's rewrite, BM25 too, our re-ranker", finder(*richer, True), given=True),
            Way("last turn alone", finder(plain, [], True)),
            Way("last turn alone, BM25 too, our re-ranker", finder(*richer, True)),
        ),
        PACKAGES,
    )


def finder(retriever: Any, postprocessors: list[Any], alone: bool) -> Any:
    def find(question: str, history: Sequence[Message]) -> list[str]:
        said = [ChatMessage(role=each.role, content=each.content) for each in history]
        engine = CondensePlusContextChatEngine.from_defaults(
            retriever,
            memory=ChatMemoryBuffer.from_defaults(token_limit=8000),
            node_postprocessors=postprocessors,
            skip_condense=alone,
        )
        _, _, nodes = engine._run_c3(question, said)  # what its chat() does before it generates
        return [node.node.node_id for node in nodes]

    return find
