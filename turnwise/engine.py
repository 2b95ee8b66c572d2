"""The facade people import: an Engine over one library, and the Chats held with it."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import aclosing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from turnwise.config import Settings
from turnwise.conversation import Conversation
from turnwise.dialogue.profile import Profile
from turnwise.documents import ingest
from turnwise.documents.uploads import upload_source
from turnwise.documents.watch import EVERY, Change, Watched, watch
from turnwise.errors import BadRequest, LibraryError, MessageBlocked, ToolError, TurnwiseError
from turnwise.guard.limits import admit
from turnwise.guard.shape import check_conversation_id, check_count, check_filter, check_text
from turnwise.tools.function import as_tool
from turnwise.turn.examine import analyze, messages_sent_in, plan
from turnwise.turn.generate import only_quotes
from turnwise.turn.parts import Parts
from turnwise.turn.retrieve import find
from turnwise.turn.run import run_turn
from turnwise.types import (
    EVERYTHING,
    LIBRARY,
    AddReport,
    Analysis,
    Answered,
    ChatModel,
    ConversationStore,
    DocumentInfo,
    Failed,
    Filter,
    Hit,
    Index,
    Message,
    Passage,
    Progress,
    QueryPlan,
    Reach,
    Reply,
    SearchQuery,
    Suspect,
    Tool,
    TurnEvent,
    TurnRequest,
)

if TYPE_CHECKING:
    from turnwise.guard.pipeline import GuardrailPipeline
    from turnwise.tools.database import DatabaseTool
    from turnwise.tools.sources import Table

T = TypeVar("T")


class TurnFailed(TurnwiseError):
    """A turn that ended in an error, as `Chat.ask` raises it: the code, message and hint of what went wrong.

    It is also of the class of that error, so `except MessageBlocked` catches it; the error itself is its `__cause__`.
    """

    def __new__(cls, failed: Failed) -> TurnFailed:
        cause = failed.cause
        kind = _failed_as(type(cause)) if isinstance(cause, TurnwiseError) else cls  # type: ignore[arg-type]
        return super().__new__(kind)

    def __init__(self, failed: Failed) -> None:
        TurnwiseError.__init__(self, failed.error["message"], failed.error["hint"])
        if isinstance(failed.cause, TurnwiseError):
            vars(self).update(vars(failed.cause))  # such as `retry_after`
        self.failed = failed
        self.__cause__ = failed.cause

    def __reduce__(self) -> tuple[type[TurnFailed], tuple[Failed]]:
        return TurnFailed, (self.failed,)

    @property
    def code(self) -> str:
        return str(self.failed.error["code"])

    @property
    def status(self) -> int:
        return self.failed.status


@cache
def _failed_as(kind: type[TurnwiseError]) -> type[TurnFailed]:
    """The class of a failed turn whose error is of this kind."""
    if issubclass(kind, TurnFailed):
        return kind
    return type(kind.__name__, (TurnFailed, kind), {"__module__": kind.__module__})


async def end_of(
    events: AsyncGenerator[TurnEvent, None], show: Callable[[TurnEvent], object] | None = None
) -> Reply | Failed:
    """The reply of a turn, or how it failed. Each event is shown as it happens."""
    async with aclosing(events):
        async for event in events:
            if show:
                show(event)
            if isinstance(event, Answered):
                return event.reply
            if isinstance(event, Failed):
                return event
    raise AssertionError("a turn ends in Answered or Failed")


class Engine:
    """A library, a store of conversations and a model, ready to hold turns. Made by `turnwise.open`."""

    def __init__(self, parts: Parts, data: DatabaseTool) -> None:
        self._parts = parts
        self._data = data
        self._background: _Loop | None = None
        self._closed = False
        self._lock = threading.Lock()

    @property
    def settings(self) -> Settings:
        return self._parts.settings

    @property
    def index(self) -> Index:
        """The documents. Raises LibraryError once the library is closed."""
        return self._opened.index

    @property
    def store(self) -> ConversationStore:
        """The conversations. Raises LibraryError once the library is closed."""
        return self._opened.store

    @property
    def _opened(self) -> Parts:
        if self._closed:
            raise _is_closed()
        return self._parts

    @property
    def models(self) -> Sequence[ChatModel]:
        """The models that answer. They are asked in order, and the first to speak answers."""
        return self._parts.models

    @property
    def model_name(self) -> str:
        return self.models[0].name

    @property
    def offline(self) -> bool:
        """Whether answers are made on this machine. A model of your own may send what it is shown anywhere."""
        return not self.settings.endpoint and (self.settings.local or all(map(only_quotes, self.models)))

    @property
    def guard(self) -> GuardrailPipeline:
        """The rails around its turns, which can also be asked about a text."""
        return self._parts.guard

    def add(
        self,
        *paths: str | Path,
        collection: str | None = None,
        tags: Iterable[str] | None = None,
        contents: Mapping[str, bytes] | None = None,
        progress: Progress | None = None,
        tenant: str = "",
        attached: str = "",
    ) -> AddReport:
        """Read documents into the library: files, folders, patterns ("papers/*.pdf"), web addresses, and bibliographies
        with the files they name. `contents` are documents given as bytes, by name. All get the collection and the
        tags; with None, those that were there before keep theirs. A document can be searched by its words as
        soon as it is in; vectors follow. A tenant's documents are seen only by that tenant, those attached to a
        conversation only by its turns."""
        report = self.read(
            *paths,
            collection=collection,
            tags=tags,
            contents=contents,
            progress=progress,
            tenant=tenant,
            attached=attached,
        )
        self.embed(progress)
        return self.checked(report)

    def read(
        self,
        *paths: str | Path,
        collection: str | None = None,
        tags: Iterable[str] | None = None,
        contents: Mapping[str, bytes] | None = None,
        progress: Progress | None = None,
        tenant: str = "",
        attached: str = "",
    ) -> AddReport:
        """The first half of `add`: what is read can be searched by its words. Large additions are checked for
        instructions to the assistant in the other half, `embed`; a turn checks what it finds in any case."""
        _check_documents(paths, contents)
        shelf = ingest.Shelf.of(collection, tags, tenant, attached)
        return ingest.add(self.index, paths, progress, shelf, contents, inspector=self._parts.guard.instructions)

    def upload(
        self,
        name: str,
        data: bytes,
        collection: str | None = None,
        tags: Iterable[str] | None = None,
        tenant: str = "",
        attached: str = "",
        apart: bool = False,
    ) -> AddReport:
        """Read one document that somebody sent; it can be searched by its words when this returns. It replaces one of
        the same name in the same place; with `apart` that is its collection. Raises DocumentError if it cannot be
        read."""
        _check_documents((), {name: data})
        shelf, rail = ingest.Shelf.of(collection, tags, tenant, attached, apart), self._parts.guard.instructions
        report = ingest.add(self.index, (), None, shelf, {name: data}, inspector=rail, uploaded=True)
        if report.failed:
            raise ingest.as_error(report.failed[0])
        return report

    def uploaded(self, name: str, tenant: str = "", attached: str = "", apart: str = "") -> DocumentInfo | None:
        """The document that was uploaded under that name, or apart in that collection; None if there is none."""
        reach = Reach(tenant, (), (attached,) if attached else ())
        return self.index.document(upload_source(name, tenant, attached, apart), reach)

    def watch(
        self,
        *paths: str | Path,
        collection: str | None = None,
        tags: Iterable[str] | None = None,
        every: float = EVERY,
        stop: threading.Event | None = None,
        tenant: str = "",
    ) -> Iterator[Change]:
        """Keep the library up to date with files and folders that were added: what changes is read again, what is
        deleted is taken out, until `stop` is set. Yields each change once it can be searched by its words."""
        shelf = ingest.Shelf.of(collection, tags, tenant)
        return watch(self.index, Watched(paths), shelf, every, stop, self._parts.guard.instructions)

    def gone(self, *paths: str | Path) -> list[str]:
        """The sources of documents below these folders whose files are no longer there."""
        return ingest.gone(self.index, paths)

    def embed(self, progress: Progress | None = None, stop: threading.Event | None = None) -> int:
        """The other half of `add`: make the missing vectors, then check what was not checked yet, until nothing is left
        or `stop` is set. Returns how many vectors were made."""
        made = ingest.embed_pending(self.index, progress, stop)
        if (rail := self._parts.guard.instructions) is not None:
            ingest.inspect_pending(self.index, rail, progress, stop, new=True)
        return made

    def checked(self, report: AddReport) -> AddReport:
        """The report of `read`, with what `embed` has since found in the documents that it was left to check."""
        if not report.unchecked:
            return report
        left = set(report.unchecked)
        late = [each for each in self._suspects() if each.source in left and not each.trusted]
        suspect = {each.source: each for each in (*report.suspect, *late)}
        return dataclasses.replace(report, suspect=tuple(suspect.values()), unchecked=())

    def pending(self) -> int:
        """How many passages have no vector yet."""
        return ingest.pending(self.index)

    def unchecked(self, sources: Iterable[str] | None = None) -> dict[str, int]:
        """How many passages are still to be checked for instructions to the assistant, by source: all, or these."""
        return self.index.unchecked_in(sources) if self.checks_documents else {}

    def unfinished(self) -> bool:
        """Whether there is anything for `embed` to do."""
        return self.pending() > 0 or (self.checks_documents and bool(self.index.unchecked("", 0, 1)))

    def remove(self, source: str | Path) -> bool:
        """Remove a document completely. Returns False if the library has none with that path."""
        return ingest.remove(self.index, str(source))

    def remove_document(self, document_id: int, reach: Reach = LIBRARY) -> bool:
        """Remove a document completely. Returns False if there is none with that id within reach."""
        found = self.index.document(document_id, reach)
        return found is not None and self.index.remove(found.source)

    def remove_collection(self, name: str, reach: Reach = LIBRARY) -> int:
        """Remove the documents of a collection that are within reach. Returns how many there were."""
        own, removed = dataclasses.replace(reach, conversations=()), 0
        while found := self.index.find_documents(collection=name, reach=own):
            removed += sum(self.index.remove(each.source) for each in found)
        return removed

    def remove_attachments(self, conversation_id: str, tenant: str = "") -> int:
        """Remove what was attached to a conversation. Returns how many documents there were."""
        found = self.index.attachments(Reach(tenant, (), (conversation_id,)))
        return sum(self.index.remove(each.source) for each in found)

    def reindex(self, document_id: int, reach: Reach = LIBRARY) -> bool | None:
        """Read a document again if its file is still there; if not, have its vectors made again (only `add` fetches web
        addresses). Returns whether it was read, or None if there is none with that id within reach. Raises
        DocumentError if it can no longer be read."""
        found = self.index.document(document_id, reach)
        return None if found is None else ingest.read_again(self.index, found, self._parts.guard.instructions)

    def has(self, source: str | Path) -> bool:
        """Whether the library has a document of that path or address."""
        return ingest.has(self.index, str(source))

    def trust(self, source: str | Path, trusted: bool = True) -> bool:
        """Say that a document is fine although it seems to instruct the assistant, so that its passages may answer; or
        take that back. It holds for the document's present content, even when it is added again. Returns False if there
        is no such document."""
        return ingest.trust(self.index, str(source), trusted)

    @property
    def checks_documents(self) -> bool:
        """Whether the guard in use looks for instructions to the assistant in documents."""
        return self._parts.guard.instructions is not None

    def suspects(self, progress: Progress | None = None) -> list[Suspect]:
        """The documents that hold instructions to the assistant, including trusted ones. What was added before
        documents were checked is checked now. Empty if the guard does not check documents."""
        rail = self._parts.guard.instructions
        if rail is None:
            return []
        ingest.inspect_pending(self.index, rail, progress)
        return self._suspects()

    def _suspects(self) -> list[Suspect]:
        """The ones known so far."""
        if (rail := self._parts.guard.instructions) is None:
            return []
        found = [dataclasses.replace(each, passages=rail.suspects(each.passages)) for each in self.index.suspects()]
        return [each for each in found if each.passages or each.hidden]

    def flagged(self, documents: Iterable[DocumentInfo]) -> set[int]:
        """The ids of those that hold instructions to the assistant, as far as they have been checked."""
        rail, asked = self._parts.guard.instructions, list(documents)
        if rail is None:
            return set()
        found = self.index.flags(each.id for each in asked)
        return {each.id for each in asked if each.hidden or rail.suspects(found.get(each.id, ()))}

    def add_tool(self, tool: Tool | Callable[..., Any]) -> None:
        """Let turns call a function of yours (see `turnwise.tool`). Yours are asked before the built-in ones."""
        added = as_tool(tool)
        if any(each.name == added.name for each in self._parts.tools):
            raise ToolError(f"There is already a tool called {added.name}.", "Give the function another name.")
        self._parts = dataclasses.replace(self._parts, tools=(added, *self._parts.tools))

    def attach(self, place: str | Path) -> tuple[Table, ...]:
        """Let questions be answered from tables too: a CSV, TSV, Parquet or SQLite file, or a database at an address
        (postgres://USER:PASSWORD@HOST/NAME). They are only read, and not stored. Returns the tables."""
        tables = self._data.attach(place)
        if self._data not in self._parts.tools:
            self._parts = dataclasses.replace(self._parts, tools=(*self._parts.tools, self._data))
        return tables

    @property
    def data(self) -> tuple[Table, ...]:
        """The attached tables."""
        return self._data.tables

    def search(self, query: str, k: int = 6, where: Filter = EVERYTHING, reach: Reach = LIBRARY) -> list[Hit]:
        """The best k passages for a question in the documents that the filter lets through, as a turn finds them. They
        include those that a turn would leave out because they instruct the assistant: see `is_suspect`."""
        check_text(query, "a search")
        check_count(k, "k")
        check_filter(where)
        hits = find(SearchQuery(query, where=where, reach=reach), k, self.index.search, self._parts.reranker)
        rail = self._parts.guard.instructions
        if rail is None:
            return hits
        passages = rail.with_flags(self.index, [hit.passage for hit in hits])
        return [dataclasses.replace(hit, passage=passage) for hit, passage in zip(hits, passages, strict=True)]

    def find(self, query: SearchQuery, k: int) -> list[Hit]:
        """The best k passages for a query as a turn makes it."""
        check_count(k, "k")
        return find(query, k, self.index.search, self._parts.reranker)

    def is_suspect(self, passage: Passage) -> bool:
        """Whether turns leave a passage out, or warn of it, because it seems to instruct the assistant."""
        rail = self._parts.guard.instructions
        return rail is not None and rail.is_suspect(passage)

    def chat(self, conversation_id: str | None = None, where: Filter = EVERYTHING) -> Chat:
        """A conversation kept in the library; a new one if no id is given. With a filter, answers come only from the
        documents that it lets through."""
        check_conversation_id(conversation_id or None)
        check_filter(where)
        return Chat(self, conversation_id or uuid.uuid4().hex, where)

    def prepare(self) -> None:
        """Do what the models can do before they are first asked, such as loading. May raise a ModelError."""
        for model in self.models:
            if prepare := getattr(model, "prepare", None):
                prepare()

    def process_query(self, query_id: str, query: str, session_id: str) -> Reply:
        """One turn of the conversation with that id: its history is read, a plan made and carried out, the answer
        written, and the history updated. The reply's plan carries the query id. Raises TurnFailed if the turn ended in
        an error."""
        return self.run(self.answer(TurnRequest(query, conversation_id=session_id, query_id=query_id)))

    def stream(self, request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        """One turn as it happens. It never raises for bad input or a failing model: it ends in Answered or Failed."""
        return _closed_turn() if self._closed else run_turn(request, self._parts)

    async def answer(self, request: TurnRequest) -> Reply:
        """One turn, when it is done. Raises TurnFailed if it ended in an error."""
        end = await end_of(self.stream(request))
        if isinstance(end, Failed):
            raise TurnFailed(end)
        return end

    def analyze(self, request: TurnRequest) -> Analysis:
        """What a message is to its conversation: intent, follow-up, state and the question it stands for. Nothing is
        searched, answered or stored."""
        return analyze(request, self._opened)

    def plan(self, question: str, history: Sequence[Message] = (), query_id: str = "") -> QueryPlan:
        """The steps that would answer a question, with the tools and the model in use. None of them is carried out.
        Raises MessageBlocked if the guard refuses the question."""
        return self.run(plan(question, history, self._parts, query_id))

    async def admit(self, request: TurnRequest) -> None:
        """Count a message that is analyzed but not answered. Raises TooManyRequests if a limit was reached."""
        await admit(request, self._parts.limits)

    def sent(self, conversation: Conversation, turn: int, reach: Reach = LIBRARY) -> tuple[Message, ...]:
        """What a language model was sent in a turn of a conversation; empty if none was asked."""
        return messages_sent_in(conversation, turn, self._opened, reach)

    def memory(self, user: str = "", tenant: str = "") -> Profile:
        """What is remembered about a user across conversations. Nothing is, unless they want it: see `set_memory`."""
        return Profile.from_dict(self.store.profiles.profile(tenant, user))

    def set_memory(self, profile: Profile | Mapping[str, Any], user: str = "", tenant: str = "") -> Profile:
        """Remember this about a user, in place of what was remembered; with `enabled`, turns use it and add to it.
        Returns it as it is stored. Raises MessageBlocked for a preference that would be refused as a message."""
        given = Profile.from_dict(profile.to_dict() if isinstance(profile, Profile) else profile)
        judged = {each: self.guard.judge_input(each) for each in given.preferences}
        if refused := [each for each, result in judged.items() if result.blocked]:
            raise MessageBlocked(f"“{refused[0]}” is not kept: {judged[refused[0]].why}.", "Put it another way.")
        wished = [result.sanitized for result in judged.values()]
        kept = Profile.from_dict({**given.to_dict(), "preferences": wished})
        self.store.profiles.put(tenant, user, kept.to_dict())
        return kept

    def forget(self, user: str = "", tenant: str = "") -> bool:
        """Erase everything remembered about a user, and remember nothing more. Returns False if there was nothing."""
        return self.store.profiles.delete(tenant, user)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for async work from plain code, even while a loop is running (as in a notebook)."""
        with self._lock:
            if self._closed:
                work.close()
                raise _is_closed()
            if self._background is None:
                self._background = _Loop()
            running = self._background.start(work)
        try:
            return running.result()
        except CancelledError as error:
            if self._closed:
                raise _is_closed() from error
            raise
        except BaseException:  # such as Ctrl-C: nobody waits for the work any more
            running.cancel()
            raise

    def keeping(self, store: ConversationStore) -> Engine:
        """The same library and models, with conversations kept elsewhere. Close this engine, not that one."""
        return Engine(dataclasses.replace(self._parts, store=store), self._data)

    def close(self) -> None:
        """Stop what is running and close the library. Closing again does nothing."""
        with self._lock:
            background, self._background, self._closed = self._background, None, True
        if background is not None:
            background.stop()
        self._parts.index.close()
        if self._parts.limits:
            self._parts.limits.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_closed() -> LibraryError:
    return LibraryError("The library is closed.", "Open it again: turnwise.open(...).")


async def _closed_turn() -> AsyncGenerator[TurnEvent, None]:
    error = _is_closed()
    yield Failed(error.to_dict(), error.status, ()).caused_by(error)


def _check_documents(paths: Iterable[object], contents: Mapping[str, bytes] | None) -> None:
    """Refuse what is no path, and contents that are no bytes."""
    for path in paths:
        if not isinstance(path, str | Path):
            raise BadRequest(f"{path!r:.80} is no path of a document.", "Give paths and addresses as strings.")
    for name, data in (contents or {}).items():
        if not isinstance(data, bytes | bytearray | memoryview):
            kind = type(data).__name__
            raise BadRequest(f"The contents of {name!r:.80} should be bytes, not {kind}.", "Encode it: text.encode().")


class Chat:
    """One conversation with a library."""

    def __init__(self, engine: Engine, conversation_id: str, where: Filter = EVERYTHING) -> None:
        self._engine = engine
        self.id = conversation_id
        self.where = where

    def ask(self, message: str, condensed_query: str | None = None) -> Reply:
        return self._engine.run(self._engine.answer(self._request(message, condensed_query)))

    def stream(self, message: str, condensed_query: str | None = None) -> AsyncGenerator[TurnEvent, None]:
        return self._engine.stream(self._request(message, condensed_query))

    @property
    def history(self) -> Conversation:
        return self._engine.store.conversation(self.id)

    def sent(self, turn: int) -> tuple[Message, ...]:
        """What a language model was sent in a turn of this conversation; empty if none was asked."""
        return self._engine.sent(self.history, turn)

    def _request(self, message: str, condensed_query: str | None) -> TurnRequest:
        return TurnRequest(message, conversation_id=self.id, condensed_query=condensed_query, where=self.where)


class _Loop:
    """An event loop on its own thread, for callers that are not async."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="turnwise", daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """Cancel what is running and wait until it has ended, with what it still writes down."""
        self.start(self._end()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()
