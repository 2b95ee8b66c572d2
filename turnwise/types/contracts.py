"""The protocols that the parts of Turnwise implement: models and tools, the index, and the store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from turnwise.types.dialogue import Message, Prediction
from turnwise.types.documents import Counts, Document, DocumentInfo, Flag, Outcome, Passage, Suspect
from turnwise.types.plan import Prompt, StepResult
from turnwise.types.search import EVERYTHING, LIBRARY, Filter, Hit, Reach, SearchQuery
from turnwise.types.stored import Ending, Key, Permission, Standing

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from turnwise.conversation import Conversation, Turn

    Vectors = npt.NDArray[np.float32]  # one row per text, each of length 1


# --- models and tools --------------------------------------------------------------------------------------------


class Embedder(Protocol):
    """Turns texts into vectors of length 1. A library remembers the name of the one it was built with."""

    name: str
    dimension: int

    def embed_query(self, text: str) -> Vectors:
        """One vector of shape (dimension,)."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors: ...


class Inspector(Protocol):
    """Looks for instructions to the assistant in texts. A score of `threshold` or more counts. `by` is its name."""

    by: str
    threshold: float

    def inspect(self, texts: Sequence[str]) -> list[Flag]: ...


class Condenser(Protocol):
    """The trained model that reads a conversation and a message in one pass."""

    def predict(self, message: str, history: Sequence[Message]) -> Prediction: ...


class Rewriter(Protocol):
    """The language model that may rewrite a message."""

    name: str

    async def rewrite(self, messages: Sequence[Message], limit: int) -> str:
        """The reply to these messages. It stops reading soon after `limit` characters."""
        ...


class Tool(Protocol):
    """Something a plan may call besides the search. Both calls must give up quickly, because a turn waits for them.

    A tool may also set these attributes:
    - `takes_any`: if true, it is given whatever a language model plans for it, whether `read` accepts it or not.
    - `reads_history`: if true, it is given a follow-up as written before it is given the whole question.
    - `of_library`: if true, it reads data of the library's own, and other tenants cannot use it.
    """

    name: str
    about: str  # what it is for, in a sentence that a language model reads when it plans

    async def read(self, question: str, history: Sequence[Message]) -> str:
        """The question in the form this tool takes (a sum, a query), or "" if it is not for this tool."""
        ...

    async def run(self, given: str) -> StepResult:
        """The result. Failures are reported in its `error` and never raised."""
        ...


class Reranker(Protocol):
    """A model that reads a question and a passage together. `reads` is how many passages of a search it is given, the
    best first. `trust` is the weight of its scores relative to the score of a search, which is a cosine plus a little
    for the words."""

    name: str
    reads: int
    trust: float

    def scores(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """How well each passage answers the question; higher is better."""
        ...


class Judge(Protocol):
    """A model that reads a question and a single sentence together."""

    def odds(self, question: str, sentences: Sequence[Passage]) -> list[float]:
        """How likely each sentence, given as the text of a passage, answers the question (log-odds)."""
        ...


class Matcher(Protocol):
    """A quick model that chooses the sentences which a `Judge` reads."""

    def scores(self, question: str, sentences: Sequence[Passage]) -> list[float]:
        """How well the words of each sentence, given as the text of a passage, match the question."""
        ...


class ChatModel(Protocol):
    """The model that writes an answer. An answer that was cut short may end in a `Cut`.

    A model that knows them may also have these attributes, which are read on every turn:
    - `window: int`: the tokens it can take, its answer included (0: unknown)
    - `max_tokens: int`: the longest answer it gives (0: as set)
    - `count(text: str) -> int`: the tokens of a text
    - `sees: bool`: whether it can be shown images
    - `quotes: bool`: whether it only says what the evidence says, in its words
    - `keeps_time: bool`: whether it raises `ModelTimeout` by itself; otherwise it is left after `model_timeout` seconds
      without a word
    """

    name: str

    def stream(self, prompt: Prompt) -> AsyncIterator[str]: ...


# --- the index ---------------------------------------------------------------------------------------------------


class IndexSearch(Protocol):
    """Finding passages, and reading them."""

    def search(self, query: SearchQuery, k: int) -> list[Hit]:
        """The best k passages by words and by meaning together. Passages without a vector are found by their words."""
        ...

    def locate(self, sentence: str, reach: Reach = LIBRARY) -> Passage | None:
        """The passage that contains this sentence word for word, or else all its words."""
        ...

    def held(self, words: Sequence[str], reach: Reach = LIBRARY) -> dict[str, int]:
        """The words that occur in some form in a passage within reach, each with the number of passages it occurs in,
        within reach or not."""
        ...

    def passage(self, passage_id: int, reach: Reach = LIBRARY) -> Passage | None: ...

    def around(self, passage: Passage, each_side: int = 1) -> list[Passage]:
        """The passage with up to `each_side` neighbours before and after it in the document, in order."""
        ...

    def terms(self, reach: Reach = LIBRARY) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The titles of the documents and the headings in them, up to a limit."""
        ...


class IndexDocuments(Protocol):
    """Adding, removing, listing and counting documents."""

    def put(self, documents: Iterable[Document]) -> list[Outcome]:
        """Add documents. Each replaces the one with the same source unless the digest is the same; if the title and
        the chunks are the same, the vectors are kept. When this returns, all of them are on disk and searchable by
        their words."""
        ...

    def digest(self, source: str) -> str | None:
        """The digest of the document with that source, or None if there is none."""
        ...

    def remove(self, source: str) -> bool:
        """Remove a document and everything made from it. Returns False if no document has that source."""
        ...

    def documents(self, reach: Reach | None = LIBRARY) -> list[DocumentInfo]:
        """The documents within reach, ordered by source; all of them if the reach is None."""
        ...

    def document(self, document_id: int | str, reach: Reach = LIBRARY) -> DocumentInfo | None:
        """The document with that id or that source, or None if there is none within reach."""
        ...

    def attachments(self, reach: Reach) -> list[DocumentInfo]:
        """The documents attached to the conversations of the reach, ordered by source."""
        ...

    def find_documents(
        self, search: str = "", collection: str | None = None, after: str = "", limit: int = 100, reach: Reach = LIBRARY
    ) -> list[DocumentInfo]:
        """Documents within reach whose title or source contains the words, ordered by source, starting after the
        source `after`."""
        ...

    def collections(self, reach: Reach = LIBRARY) -> dict[str, Counts]:
        """The collections within reach and what each contains; "" stands for the documents in no collection."""
        ...

    def counts(self, reach: Reach | None = None) -> Counts:
        """The totals within reach, or of the whole index if the reach is None."""
        ...


class IndexFlags(Protocol):
    """What a check for instructions to the assistant found in passages, and which documents are trusted anyway."""

    def put_flags(self, flags: Mapping[int, Flag]) -> None:
        """Store what a check found in passages, by passage id."""
        ...

    def unchecked(self, by: str, after: int, limit: int) -> list[tuple[int, str]]:
        """Passages that this check has not read, ordered by id, starting after the id `after`: their ids, and their
        headings and texts. If `by` is "", passages that no check has read, which is a quick lookup."""
        ...

    def unchecked_in(self, sources: Iterable[str] | None = None) -> dict[str, int]:
        """The number of passages that no check has read, by the source of their document, for all documents or those
        given. Documents without such passages are left out."""
        ...

    def flags(self, document_ids: Iterable[int]) -> dict[int, list[tuple[int, Flag]]]:
        """What a check found in the passages of documents: by document id, pairs of passage position and flag."""
        ...

    def suspects(self) -> list[Suspect]:
        """The documents in which a check found something, trusted ones included, ordered by source."""
        ...

    def trust(self, source: str, trusted: bool = True) -> bool:
        """Mark a document as trusted, or no longer. This applies to its content, also when that is added again or from
        elsewhere. Returns False if no document has that source."""
        ...

    def trusts(self, content: str) -> bool:
        """Whether a document with this content is marked as trusted."""
        ...


class IndexVectors(Protocol):
    """Making the vectors of passages."""

    embedder: Embedder

    def unembedded(self, limit: int) -> list[tuple[int, str]]:
        """Passages that have no vector yet, longest first: their ids, and the text to embed."""
        ...

    def put_vectors(self, vectors: Mapping[int, Vectors]) -> int:
        """Store the vectors of passages that still exist and have none. Returns how many were stored."""
        ...

    def forget_vectors(self, document_id: int) -> None:
        """Delete the vectors of a document, so that they are made again."""
        ...


class Index(IndexSearch, IndexDocuments, IndexFlags, IndexVectors, Protocol):
    """A library of documents. Safe for several threads and processes."""

    def close(self) -> None: ...


class Library(Protocol):
    """The part of an index that a turn may use, with its reach already applied."""

    def search(self, query: SearchQuery, k: int) -> list[Hit]: ...

    def locate(self, sentence: str) -> Passage | None: ...

    def held(self, words: Sequence[str]) -> dict[str, int]: ...

    def passage(self, passage_id: int) -> Passage | None: ...

    def around(self, passage: Passage, each_side: int = 1) -> list[Passage]: ...

    def terms(self) -> tuple[tuple[str, ...], tuple[str, ...]]: ...

    def titles(self, limit: int, where: Filter = EVERYTHING) -> tuple[list[str], int]:
        """The titles of the first documents in the collections that are searched, and how many documents there are."""
        ...


# --- the store ---------------------------------------------------------------------------------------------------


class ConversationStore(Protocol):
    """Conversations and what belongs to them. Conversation ids are local to a tenant: another tenant's conversation
    with the same id is a different one and cannot be seen. The store itself is the view of the library's own tenant,
    ""."""

    keys: KeyRing
    requests: RequestLog
    profiles: Profiles
    chores: ChoreList

    def of(self, tenant: str, collections: Iterable[str] = ()) -> ConversationStore:
        """The same store as another tenant sees it. If collections are given, only the tenant's conversations whose
        turns could not draw on any others. A turn taken in a wider view removes its conversation from the narrower
        ones."""
        ...

    def begin(self, conversation_id: str) -> None:
        """Create a conversation with no title and no turns. Does nothing if there is one already."""
        ...

    def accept(self, conversation_id: str, prompt: str, user: str = "") -> Conversation:
        """Append the prompt as a pending turn. It is on disk when this returns, and the last turn of the conversation
        returned, whose metadata has `ancestors`: the ids of the conversations it branched from, nearest first."""
        ...

    def finish(self, conversation_id: str, number: int, ending: Ending) -> None:
        """End a pending turn."""
        ...

    def conversation(self, conversation_id: str, records: bool = True) -> Conversation:
        """The conversation with the records of its turns and its `user_id`. Its metadata has `title` and `ancestors`,
        and that of a turn `feedback` if there is any. Without `records`, records and feedback are left out."""
        ...

    def page(self, conversation_id: str, before: int | None = None, limit: int = 100) -> tuple[Conversation, int]:
        """The conversation with only its latest `limit` turns, or those before a turn number, and its total number of
        turns."""
        ...

    def turn(self, conversation_id: str, number: int) -> Turn:
        """One turn with its record. Raises ConversationNotFound."""
        ...

    def conversations(
        self, limit: int = 100, search: str = "", user: str | None = None, before: float | None = None
    ) -> list[dict[str, Any]]:
        """The id, title, user, number of turns, created_at and last_activity of each conversation, the most recently
        active first, and `branch_of` for branches. With `search`, those whose title, prompts or answers contain all
        the words, each with a `snippet`."""
        ...

    def hides(self, conversation_id: str) -> bool:
        """Whether a conversation with that id exists but is not in this view."""
        ...

    def rename(self, conversation_id: str, title: str) -> None: ...

    def delete(self, conversation_id: str) -> None:
        """Delete a conversation with its turns and their feedback. Raises ConversationNotFound."""
        ...

    def branch(self, conversation_id: str, before: int, new_id: str) -> None:
        """Create a conversation from the turns of another one that come before a turn number."""
        ...

    def put(self, conversation: Conversation, title: str = "") -> None:
        """Import a conversation. Raises ConversationError if its id is taken."""
        ...

    def rate(self, conversation_id: str, number: int, feedback: dict[str, Any] | None) -> None:
        """Store feedback on an answer, or delete it if None."""
        ...

    def standings(self, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Standing]:
        """The state of conversations of any tenants, by tenant and id. Those that do not exist are left out."""
        ...

    def facts(self, since: float = 0.0, until: float | None = None) -> Iterator[dict[str, Any]]:
        """The `facts` stored with each turn begun in that period, oldest first, with its conversation_id, number,
        status, created_at, user and feedback. Facts of turns older than this feature are read from their records."""
        ...


class KeyRing(Protocol):
    def create(
        self,
        name: str,
        tenant: str = "",
        collections: Iterable[str] = (),
        may: Permission = "ask",
        expires_at: float | None = None,
    ) -> tuple[Key, str]:
        """A new key and its secret, which is stored only as a hash and never shown again."""
        ...

    def find(self, secret: str) -> Key | None:
        """The key with this secret, valid or not, or None if there is none."""
        ...

    def key(self, key_id: str) -> Key | None: ...

    def all(self) -> list[Key]: ...

    def revoke(self, key_id: str) -> bool:
        """Revoke a key. Returns False if there is no such key."""
        ...

    def used(self, key_id: str) -> None:
        """Record that a key was used now. Once a minute is enough."""
        ...


class RequestLog(Protocol):
    """Requests that carried an Idempotency-Key, kept for a day."""

    def claim(self, tenant: str, key: str, digest: str) -> dict[str, Any] | None:
        """None if the request is new, and from now on this process's to answer; the answer if it has one. Raises
        RequestInFlight while another caller is answering it, and KeyReused if the key came with another digest."""
        ...

    def complete(self, tenant: str, key: str, answer: dict[str, Any]) -> None: ...

    def release(self, tenant: str, key: str) -> None:
        """Allow the same request to be sent again, because it failed."""
        ...


class Profiles(Protocol):
    """What is remembered about users across their conversations, if they want it: JSON, by tenant and user."""

    def profile(self, tenant: str, user: str) -> dict[str, Any] | None: ...

    def put(self, tenant: str, user: str, profile: dict[str, Any]) -> None: ...

    def delete(self, tenant: str, user: str) -> bool: ...


class ChoreList(Protocol):
    """Work on the library that only one process does at a time."""

    def take(self, name: str) -> bool:
        """Whether this process now holds the work, for a while. Returns False if another process does."""
        ...

    def leave(self, name: str) -> None:
        """Release the work."""
        ...
