"""LangChain's history-aware retriever for benchmarks/peers.py, with the prompt of its tutorial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_classic.chains.history_aware_retriever import create_history_aware_retriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.vectorstores import InMemoryVectorStore
from peer_common import BEST, SameEmbedder, SameModel, System, Task, Way, passage_text

from turnwise.types import Message

PACKAGES = ("langchain_core", "langchain_classic", "langchain")
ROLES = {"human": "user", "ai": "assistant", "system": "system"}
CONDENSE = (
    "Given a chat history and the latest user question which might reference context in the chat history, "
    "formulate a standalone question which can be understood without the chat history. "
    "Do NOT answer the question, just reformulate it if needed and otherwise return it as is."
)


class Embedding(Embeddings):
    def __init__(self, same: SameEmbedder) -> None:
        self._same = same

    def embed_query(self, text: str) -> list[float]:
        return self._same.embed_query(text).tolist()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._same.embed_passages(texts).tolist()


class Model(SimpleChatModel):
    same: Any

    @property
    def _llm_type(self) -> str:
        return "SmolLM2-135M-Instruct"

    def _call(self, messages: list[BaseMessage], *_: Any, **__: Any) -> str:
        return self.same.reply([Message(ROLES[each.type], each.text) for each in messages])


def build(task: Task, embedder: SameEmbedder, model: SameModel) -> System:
    documents = [Document(passage_text(entry), id=entry.id) for entry in task.entries]
    store = InMemoryVectorStore.from_documents(documents, Embedding(embedder))
    retriever = store.as_retriever(search_kwargs={"k": BEST})
    prompt = ChatPromptTemplate.from_messages(
        [("system", CONDENSE), MessagesPlaceholder("chat_history"), ("human", "{input}")]
    )
    aware = create_history_aware_retriever(Model(same=model), retriever, prompt)

    def condensed(question: str, history: Sequence[Message]) -> list[str]:
        said = [(HumanMessage if each.role == "user" else AIMessage)(each.content) for each in history]
        return [found.id for found in aware.invoke({"input": question, "chat_history": said})]

    def last_turn(question: str, _: Sequence[Message]) -> list[str]:
        return [found.id for found in aware.invoke({"input": question, "chat_history": []})]

    return System(
        (
            Way("condensed by the model", condensed, asks=True),
            Way("Mixtral's rewrite", last_turn, given=True),
            Way("last turn alone", last_turn),
        ),
        PACKAGES,
    )
