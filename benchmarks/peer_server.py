"""A peer for benchmarks/load.py: LlamaIndex's chat engine behind FastAPI, with the same documents and embedder.

    python benchmarks/peer_server.py DOCUMENTS [--borrowed]

It retrieves as Turnwise does: with vectors of the same network and with BM25, fused by rank; a re-ranker reads the
best, and six remain. The re-ranker is the one available for it, ms-marco-MiniLM-L-12-v2 on fifteen passages, or with
--borrowed Turnwise's own, on as many as in Turnwise. No language model is called: the answer is one fixed word.
Histories are kept in memory.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from llama_index.core import Settings, SimpleDirectoryReader, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.retrievers.bm25 import BM25Retriever
from starlette.requests import Request
from starlette.responses import StreamingResponse

from turnwise.models.embedder import OnnxEmbedder, QuickEmbedder
from turnwise.models.reranker import OnnxReranker
from turnwise.types import Passage


class SameEmbedder(BaseEmbedding):  # type: ignore[misc]
    """Turnwise's embedder."""

    _ours: Any = None

    def __init__(self) -> None:
        super().__init__()
        self._ours = QuickEmbedder(OnnxEmbedder())

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._ours.embed_query(query).tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._ours.embed_passages([text])[0].tolist()


class Rereading(BaseNodePostprocessor):  # type: ignore[misc]
    """Turnwise's re-ranker, or the one it was distilled from."""

    _ours: Any = None

    def __init__(self, ours: OnnxReranker) -> None:
        super().__init__()
        self._ours = ours

    def _postprocess_nodes(self, nodes: list[Any], query_bundle: Any = None) -> list[Any]:
        passages = [Passage(0, 0, node.metadata.get("file_name", ""), "", node.get_content()) for node in nodes]
        scores = self._ours.scores(query_bundle.query_str, passages)
        best = sorted(zip(scores, range(len(nodes)), strict=True), reverse=True)[:6]
        return [nodes[place] for _, place in best]


def create(documents: Path, reranker: OnnxReranker) -> FastAPI:
    Settings.llm = MockLLM(max_tokens=1)
    Settings.embed_model = SameEmbedder()
    Settings.tokenizer = str.split  # the default one would be downloaded
    Settings.chunk_size, Settings.chunk_overlap = 120, 0  # passages as long as ours
    index = VectorStoreIndex.from_documents(SimpleDirectoryReader(str(documents)).load_data())
    by_words = BM25Retriever.from_defaults(docstore=index.docstore, similarity_top_k=reranker.reads)
    by_meaning = index.as_retriever(similarity_top_k=reranker.reads)
    retriever = QueryFusionRetriever(
        [by_meaning, by_words], similarity_top_k=reranker.reads, num_queries=1, mode="reciprocal_rerank", use_async=True
    )
    engines: dict[str, ContextChatEngine] = {}
    app = FastAPI()

    @app.post("/api/chat")
    async def chat(sent: Request) -> StreamingResponse:
        body = await sent.json()
        engine = engines.get(body["conversation_id"])
        if engine is None:
            memory = ChatMemoryBuffer.from_defaults(token_limit=8000)
            engine = engines[body["conversation_id"]] = ContextChatEngine.from_defaults(
                retriever, memory=memory, node_postprocessors=[Rereading(reranker)]
            )

        async def frames() -> AsyncIterator[bytes]:
            reply = await engine.achat(body["message"])
            yield b"event: answer\ndata: " + json.dumps({"text": str(reply)}).encode() + b"\n\n"

        return StreamingResponse(frames(), media_type="text/event-stream")

    return app


def main() -> None:
    app = create(Path(sys.argv[1]), OnnxReranker(quality="--borrowed" not in sys.argv))
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(f"The peer is at http://127.0.0.1:{listening.getsockname()[1]} now", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


if __name__ == "__main__":
    main()
