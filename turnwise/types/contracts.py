"""The protocols that the parts of Turnwise fulfil: models and tools, the index, and the store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from turnwise.types.dialogue import Message, Prediction
from turnwise.types.documents import Counts, Document, DocumentInfo, Flag, Outcome, Passage, Suspect
from turnwise.types.plan import Prompt, StepResult
from turnwise.types.search import EVERYTHING, LIBRARY, Filter, Hit, Reach, SearchQuery, Source
from turnwise.types.stored import Key, Permission, Standing

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from turnwise.conversation import Conversation, Turn, TurnStatus

    Vectors = npt.NDArray[np.float32]  # one row a text, each of length 1


class Embedder(Protocol):
    name: str
    dimension: int

    def embed_query(self, text: str) -> Vectors:
        """One vector of shape (dimension,)."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors: ...


class Inspector(Protocol):
    """Looks for instructions to the assistant in texts; a score from `threshold` on counts. `by` names it."""

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
        """The reply to these messages; it stops reading soon after `limit` characters."""
        ...


class Tool(Protocol):
    """Something a plan may call besides the search. Both calls are quick to give up: a turn waits for them.

    One whose `takes_any` is true is given what a language model plans for it, read or not.
    One whose `reads_history` is true is given a follow-up as it was written before it is given the whole question.
    One whose `of_library` is true reads what is the library's own, and is not given to other tenants.
    """

    name: str
    about: str  # what it is for, in a sentence that a language model reads when it plans

    async def read(self, question: str, history: Sequence[Message]) -> str:
        """The question as this tool takes it (a sum, a query), empty where it is not for this tool."""
        ...

    async def run(self, given: str) -> StepResult:
        """What comes of it. What goes wrong is said in the result's `error`, never raised."""
        ...


class Reranker(Protocol):
    """A model that reads a question and a passage together. `reads` is how many passages of a search it is given, the
    best first; `trust` is what a point of its scores counts beside the score of a search, which is a cosine and a
    little."""

    name: str
    reads: int
    trust: float

    def scores(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """How well each passage answers the question; higher is better."""
        ...


class Judge(Protocol):
    """A model that reads a question and a single sentence together."""

    def odds(self, question: str, sentences: Sequence[Passage]) -> list[float]:
        """How likely each sentence, as the text of a passage, answers the question (log-odds)."""
        ...


class Index(Protocol):
    """A library: documents in and out, and what a search of them finds. Safe for several threads and processes."""

    embedder: Embedder

    def put(self, documents: Iterable[Document]) -> list[Outcome]:
        """Put documents in, each in place of the one of its source unless the digest is the same; where the title and
        the chunks are, the vectors stay. Those of one call are on disk and searchable by their words when it
        returns."""
        ...

    def digest(self, source: str) -> str | None:
        """The digest of the document of that source, None where there is none."""
        ...

    def remove(self, source: str) -> bool:
        """Take a document out, everywhere. False where there is none of that source."""
        ...

    def search(self, query: SearchQuery, k: int) -> list[Hit]:
        """The best k passages by words and by meaning together. Passages without a vector are found by their words."""
        ...

    def locate(self, sentence: str, reach: Reach = LIBRARY) -> Passage | None:
        """The passage that holds this sentence: word for word, else all its words."""
        ...

    def held(self, words: Sequence[str], reach: Reach = LIBRARY) -> dict[str, int]:
        """Of these words those that a passage within reach has in some form; and in how many passages, of anybody's,
        that is."""
        ...

    def passage(self, passage_id: int, reach: Reach = LIBRARY) -> Passage | None: ...

    def around(self, passage: Passage, reach: int = 1) -> list[Passage]:
        """The passage with its neighbours in the document, as many on each side, in order."""
        ...

    def documents(self, reach: Reach | None = LIBRARY) -> list[DocumentInfo]:
        """The documents within reach, in order of source; every document there is where the reach is None."""
        ...

    def document(self, document_id: int | str, reach: Reach = LIBRARY) -> DocumentInfo | None:
        """The document of that id or of that source, None where there is none within reach."""
        ...

    def attachments(self, reach: Reach) -> list[DocumentInfo]:
        """The documents that are attached to the conversations of the reach, in order of source."""
        ...

    def find_documents(
        self, search: str = "", collection: str | None = None, after: str = "", limit: int = 100, reach: Reach = LIBRARY
    ) -> list[DocumentInfo]:
        """Documents within reach whose title or source holds the words, in order of source, from the one after."""
        ...

    def collections(self, reach: Reach = LIBRARY) -> dict[str, Counts]:
        """The collections within reach, "" among them where documents are in none, and what each holds."""
        ...

    def terms(self, reach: Reach = LIBRARY) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The titles of the documents and the headings in them, as far as a library has few."""
        ...

    def counts(self, reach: Reach | None = None) -> Counts:
        """What there is within reach; all of it where the reach is None."""
        ...

    def forget_vectors(self, document_id: int) -> None:
        """Let the vectors of a document be made again."""
        ...

    def put_flags(self, flags: Mapping[int, Flag]) -> None:
        """Keep what a check found in passages, by their ids."""
        ...

    def unchecked(self, by: str, after: int, limit: int) -> list[tuple[int, str]]:
        """Passages that this check has not looked at, in order of their ids, from the one after: their ids, and their
        headings and texts. Without a name (""), those that none has looked at, which is quick to tell."""
        ...

    def unchecked_in(self, sources: Iterable[str] | None = None) -> dict[str, int]:
        """How many passages no check has looked at, by the sources of their documents: all, or these. Those that have
        none are left out."""
        ...

    def flags(self, document_ids: Iterable[int]) -> dict[int, list[tuple[int, Flag]]]:
        """What a check found in the passages of documents, by the ids of those and the positions of these."""
        ...

    def suspects(self) -> list[Suspect]:
        """The documents in which a check found something, those that are trusted too, in order of source."""
        ...

    def trust(self, source: str, trusted: bool = True) -> bool:
        """Say that a document is fine as it is, or no more. It holds for the same content, added again or elsewhere.
        False where there is none of that source."""
        ...

    def trusts(self, content: str) -> bool:
        """Whether somebody has said that a document of this content is fine."""
        ...

    def unembedded(self, limit: int) -> list[tuple[int, str]]:
        """Passages that have no vector yet, longest first: their ids, and the text to embed."""
        ...

    def put_vectors(self, vectors: Mapping[int, Vectors]) -> int:
        """Keep the vectors of passages that are still there and have none. Gives how many."""
        ...

    def close(self) -> None: ...


class Library(Protocol):
    """What a turn may ask of an index, or of a part of it."""

    def search(self, query: SearchQuery, k: int) -> list[Hit]: ...

    def locate(self, sentence: str) -> Passage | None: ...

    def held(self, words: Sequence[str]) -> dict[str, int]: ...

    def passage(self, passage_id: int) -> Passage | None: ...

    def around(self, passage: Passage, reach: int = 1) -> list[Passage]: ...

    def terms(self) -> tuple[tuple[str, ...], tuple[str, ...]]: ...

    def titles(self, limit: int, where: Filter = EVERYTHING) -> tuple[list[str], int]:
        """What the first documents of the collections that are looked at are called, and how many there are."""
        ...


class ChatModel(Protocol):
    """Who writes an answer. One that knows may also have `window: int`, the tokens it takes with its answer (0: it does
    not know), `max_tokens: int`, the longest answer it gives (0: as set), `count(text: str) -> int`, the tokens of a
    text, and `sees: bool`, whether it can be shown images. All are asked for every turn. An answer that did not come to
    its end may end in a `Cut`."""

    name: str

    def stream(self, prompt: Prompt) -> AsyncIterator[str]: ...


class ChoreList(Protocol):
    """Work on the library that one process does at a time."""

    def take(self, name: str) -> bool:
        """Whether the work is this process's from now on, for a while. False where another is at it."""
        ...

    def leave(self, name: str) -> None:
        """Let others have the work."""
        ...


class ConversationStore(Protocol):
    """Conversations and what belongs to them. Ids are a tenant's own: what another tenant keeps under the same id is
    another conversation, of which nothing can be seen. The store itself is that of the library's own tenant, ""."""

    keys: KeyRing
    requests: RequestLog
    profiles: Profiles
    chores: ChoreList

    def of(self, tenant: str, collections: Iterable[str] = ()) -> ConversationStore:
        """The same store as another tenant sees it; where collections are named, only those of its conversations whose
        turns could draw on no others. A turn of a wider view takes a conversation out of the narrower ones."""
        ...

    def begin(self, conversation_id: str) -> None:
        """Have a conversation, without a title, that has no turn yet; nothing where there is one."""
        ...

    def accept(self, conversation_id: str, prompt: str, user: str = "") -> Conversation:
        """Append the prompt as a pending turn, on disk when this returns; it is the last turn of what comes back. Its
        metadata has `ancestors`, the ids of the conversations that it branched from, nearest first."""
        ...

    def finish(
        self,
        conversation_id: str,
        number: int,
        status: TurnStatus,
        response: str | None = None,
        sources: Iterable[Source] = (),
        record: dict[str, Any] | None = None,
        error: dict[str, Any] | None = None,
        shown: Iterable[Source] = (),
        note: str = "",
        facts: dict[str, Any] | None = None,
    ) -> None:
        """End a pending turn; `shown` and `note` are what a model was shown with it, `facts` what is counted of it."""
        ...

    def conversation(self, conversation_id: str, records: bool = True) -> Conversation:
        """The conversation with the records of its turns and its `user_id`; its metadata has `title` and `ancestors`,
        and that of a turn `feedback` where somebody gave it. Without `records`, neither these nor the feedback."""
        ...

    def page(self, conversation_id: str, before: int | None = None, limit: int = 100) -> tuple[Conversation, int]:
        """The same with the latest so many of its turns, or of those before a number, and how many it has in all."""
        ...

    def turn(self, conversation_id: str, number: int) -> Turn:
        """One turn of it with its record. Raises ConversationNotFound."""
        ...

    def conversations(
        self, limit: int = 100, search: str = "", user: str | None = None, before: float | None = None
    ) -> list[dict[str, Any]]:
        """The id, title, user, number of turns, created_at and last_activity of each, the most recently active first,
        `branch_of` of those that are branches; with `search` those in whose title, prompts or answers all the words
        stand, each with a `snippet`."""
        ...

    def hides(self, conversation_id: str) -> bool:
        """Whether there is a conversation of that id which is not in this view."""
        ...

    def rename(self, conversation_id: str, title: str) -> None: ...

    def delete(self, conversation_id: str) -> None:
        """Take a conversation out, with its turns and what was said of them. Raises ConversationNotFound."""
        ...

    def branch(self, conversation_id: str, before: int, new_id: str) -> None:
        """Begin a new conversation with the turns of another that come before a number."""
        ...

    def put(self, conversation: Conversation, title: str = "") -> None:
        """Keep a conversation that was written elsewhere. Raises ConversationError where its id is taken."""
        ...

    def rate(self, conversation_id: str, number: int, feedback: dict[str, Any] | None) -> None:
        """Keep what somebody says of an answer, or take it back."""
        ...

    def versions(self, conversation_ids: Iterable[str]) -> dict[str, tuple[int, str, float]]:
        """The number and the status of the last turn of each, and when it was last active, for those that there are."""
        ...

    def standings(self, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Standing]:
        """How conversations of any tenants stand, each named by its tenant and its id, for those that there are."""
        ...

    def facts(self, since: float = 0.0, until: float | None = None) -> Iterator[dict[str, Any]]:
        """What is counted of the turns begun in that time, oldest first: the `facts` that were given with each, and its
        conversation_id, number, status, created_at, user and feedback. Those of old turns come from their records."""
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
        """A new key and its secret, which is kept as a hash only and never seen again."""
        ...

    def find(self, secret: str) -> Key | None:
        """The key of this secret, valid or not; None where there is none."""
        ...

    def key(self, key_id: str) -> Key | None: ...

    def all(self) -> list[Key]: ...

    def revoke(self, key_id: str) -> bool:
        """False where there is no such key."""
        ...

    def used(self, key_id: str) -> None:
        """Note that it was used now; a note a minute is enough."""
        ...


class RequestLog(Protocol):
    """Requests that carried an Idempotency-Key, kept for a day."""

    def claim(self, tenant: str, key: str, digest: str) -> dict[str, Any] | None:
        """None where the request is new, and now this process's to answer; the answer where it was given. Raises
        RequestInFlight while somebody is at work on it, KeyReused where the key came with another digest."""
        ...

    def complete(self, tenant: str, key: str, answer: dict[str, Any]) -> None: ...

    def release(self, tenant: str, key: str) -> None:
        """Let the same request be sent again: it came to nothing."""
        ...


class Profiles(Protocol):
    """What is remembered of users across their conversations, where they wish it; as JSON, by tenant and user."""

    def profile(self, tenant: str, user: str) -> dict[str, Any] | None: ...

    def put(self, tenant: str, user: str, profile: dict[str, Any]) -> None: ...

    def delete(self, tenant: str, user: str) -> bool: ...
