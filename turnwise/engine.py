"""The facade people import: an Engine over one library, and the Chats held with it."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from turnwise.config import Settings
from turnwise.conversation import Conversation
from turnwise.dialogue.profile import Profile
from turnwise.documents import ingest
from turnwise.documents.uploads import upload_source
from turnwise.documents.watch import EVERY, Change, Watched, watch
from turnwise.errors import MessageBlocked, ToolError, TurnwiseError
from turnwise.guard.limits import admit
from turnwise.guard.shape import check_filter
from turnwise.tools.function import as_tool
from turnwise.turn.examine import analyze, messages_sent_in
from turnwise.turn.retrieve import find
from turnwise.turn.run import Parts, run_turn
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
    from turnwise.tools.database import Database
    from turnwise.tools.sources import Table

T = TypeVar("T")


class TurnFailed(TurnwiseError):
    """A turn that ended in an error, as `Chat.ask` raises it: the code, message and hint of what went wrong."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.error["message"], failed.error["hint"])
        self.failed = failed

    @property
    def code(self) -> str:
        return str(self.failed.error["code"])

    @property
    def status(self) -> int:
        return self.failed.status


class Engine:
    """A library, a store of conversations and a model, ready to hold turns. Made by `turnwise.open`."""

    def __init__(
        self, settings: Settings, index: Index, store: ConversationStore, parts: Parts, data: Database
    ) -> None:
        self.settings = settings
        self.index = index
        self.store = store
        self._parts = parts
        self._data = data
        self._background: _Loop | None = None

    @property
    def models(self) -> Sequence[ChatModel]:
        """Who answers: they are asked in order, and the first that speaks does."""
        return self._parts.models

    @property
    def model_name(self) -> str:
        return self.models[0].name

    @property
    def embedder_name(self) -> str:
        return self.index.embedder.name

    @property
    def guard(self) -> GuardrailPipeline:
        """The rails around its turns, to ask them about a text."""
        return self._parts.guard

    def add(
        self,
        *paths: str | Path,
        collection: str = "",
        tags: Iterable[str] = (),
        contents: Mapping[str, bytes] | None = None,
        progress: Progress | None = None,
        tenant: str = "",
        attached: str = "",
    ) -> AddReport:
        """Read documents into the library: files, folders, patterns ("papers/*.pdf"), addresses of the web, and
        bibliographies with the files they name. `contents` are documents given as bytes, by name. All get the
        collection and the tags. Words can be searched as soon as a document is in; vectors follow. Those of a tenant
        are seen by it alone, those that are attached to a conversation by turns of that alone."""
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
        collection: str = "",
        tags: Iterable[str] = (),
        contents: Mapping[str, bytes] | None = None,
        progress: Progress | None = None,
        tenant: str = "",
        attached: str = "",
    ) -> AddReport:
        """The first half of `add`: what is read can be searched by its words. Where it is much, what is said to the
        assistant in it is looked for in the other half; a turn looks at what it finds in any case."""
        shelf = ingest.Shelf.of(collection, tags, tenant, attached)
        return ingest.add(self.index, paths, progress, shelf, contents, inspector=self._parts.guard.instructions)

    def upload(
        self,
        name: str,
        data: bytes,
        collection: str = "",
        tags: Iterable[str] = (),
        tenant: str = "",
        attached: str = "",
    ) -> AddReport:
        """Read one document that somebody sent; it can be searched by its words when this returns. One of the same name
        in the same place is replaced. Raises DocumentError where it cannot be read."""
        shelf, rail = ingest.Shelf.of(collection, tags, tenant, attached), self._parts.guard.instructions
        report = ingest.add(self.index, (), None, shelf, {name: data}, inspector=rail, uploaded=True)
        if report.failed:
            raise ingest.as_error(report.failed[0])
        return report

    def uploaded(self, name: str, tenant: str = "", attached: str = "") -> DocumentInfo | None:
        """The document that was uploaded under that name."""
        reach = Reach(tenant, (), (attached,) if attached else ())
        return self.index.document(upload_source(name, tenant, attached), reach)

    def watch(
        self,
        *paths: str | Path,
        collection: str = "",
        tags: Iterable[str] = (),
        every: float = EVERY,
        stop: threading.Event | None = None,
        tenant: str = "",
    ) -> Iterator[Change]:
        """Keep the library up to date with files and folders that were added: what changes is read again, what is
        deleted is taken out, until `stop` is set. Gives each change when it can be searched by its words."""
        shelf = ingest.Shelf.of(collection, tags, tenant)
        return watch(self.index, Watched(paths), shelf, every, stop, self._parts.guard.instructions)

    def embed(self, progress: Progress | None = None, stop: threading.Event | None = None) -> int:
        """The other half: the vectors that are missing, then the check of what was not looked at, until nothing is left
        or `stop` is set. Gives how many vectors were made."""
        made = ingest.embed_pending(self.index, progress, stop)
        if (rail := self._parts.guard.instructions) is not None:
            ingest.inspect_pending(self.index, rail, progress, stop, new=True)
        return made

    def checked(self, report: AddReport) -> AddReport:
        """The report of `read` with what `embed` has found since in the documents that it was left to look at."""
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
        """How many passages are still to be looked at for instructions to the assistant, by source: all, or these."""
        return self.index.unchecked_in(sources) if self.checks_documents else {}

    def unfinished(self) -> bool:
        """Whether there is anything for `embed` to do."""
        return self.pending() > 0 or (self.checks_documents and bool(self.index.unchecked("", 0, 1)))

    def remove(self, source: str | Path) -> bool:
        """Take a document out, everywhere. False where the library has none of that path."""
        return ingest.remove(self.index, str(source))

    def remove_document(self, document_id: int, reach: Reach = LIBRARY) -> bool:
        """Take a document out, everywhere. False where there is none of that id within reach."""
        found = self.index.document(document_id, reach)
        return found is not None and self.index.remove(found.source)

    def remove_collection(self, name: str, reach: Reach = LIBRARY) -> int:
        """Take the documents of a collection out, those that are within reach. Gives how many there were."""
        own, removed = dataclasses.replace(reach, conversations=()), 0
        while found := self.index.find_documents(collection=name, reach=own):
            removed += sum(self.index.remove(each.source) for each in found)
        return removed

    def remove_attachments(self, conversation_id: str, tenant: str = "") -> int:
        """Take out what was attached to a conversation. Gives how many documents there were."""
        found = self.index.attachments(Reach(tenant, (), (conversation_id,)))
        return sum(self.index.remove(each.source) for each in found)

    def reindex(self, document_id: int, reach: Reach = LIBRARY) -> bool | None:
        """Read a document again where its file is still there, else have its vectors made again: an address of the web
        is asked by `add` alone. Gives whether it was read; None where there is none of that id within reach. Raises
        DocumentError where it cannot be read any more."""
        found = self.index.document(document_id, reach)
        return None if found is None else ingest.read_again(self.index, found, self._parts.guard.instructions)

    def trust(self, source: str | Path, trusted: bool = True) -> bool:
        """Say that a document is fine although it seems to instruct the assistant, or take that back: then its passages
        may answer. That holds for what it says now, also when it is added again. False where there is none."""
        return ingest.trust(self.index, str(source), trusted)

    @property
    def checks_documents(self) -> bool:
        """Whether the guard in force looks for instructions to the assistant in documents."""
        return self._parts.guard.instructions is not None

    def suspects(self, progress: Progress | None = None) -> list[Suspect]:
        """The documents that hold instructions to the assistant, those that are trusted too. What was added before
        documents were checked is checked now; nothing where the guard does not look at documents."""
        rail = self._parts.guard.instructions
        if rail is None:
            return []
        ingest.inspect_pending(self.index, rail, progress)
        return self._suspects()

    def _suspects(self) -> list[Suspect]:
        """Those that are known."""
        if (rail := self._parts.guard.instructions) is None:
            return []
        found = [dataclasses.replace(each, passages=rail.among(each.passages)) for each in self.index.suspects()]
        return [each for each in found if each.passages or each.hidden]

    def flagged(self, documents: Iterable[DocumentInfo]) -> set[int]:
        """The ids of those that hold instructions to the assistant, as far as they have been checked."""
        rail, asked = self._parts.guard.instructions, list(documents)
        if rail is None:
            return set()
        found = self.index.flags(each.id for each in asked)
        return {each.id for each in asked if each.hidden or rail.among(found.get(each.id, ()))}

    def add_tool(self, tool: Tool | Callable[..., Any]) -> None:
        """Let turns call a function of yours (see `turnwise.tool`). Yours are asked before those that come along."""
        added = as_tool(tool)
        if any(each.name == added.name for each in self._parts.tools):
            raise ToolError(f"There is a tool called {added.name} already.", "Give the function another name.")
        self._parts = dataclasses.replace(self._parts, tools=(added, *self._parts.tools))

    def attach(self, place: str | Path) -> tuple[Table, ...]:
        """Let questions be answered from tables too: a CSV, TSV, Parquet or SQLite file, or a database behind an
        address (postgres://USER:PASSWORD@HOST/NAME). They are only read, and not kept. Gives the tables."""
        tables = self._data.attach(place)
        if self._data not in self._parts.tools:
            self._parts = dataclasses.replace(self._parts, tools=(*self._parts.tools, self._data))
        return tables

    @property
    def data(self) -> tuple[Table, ...]:
        """The tables that can be asked."""
        return self._data.tables

    def search(self, query: str, k: int = 6, where: Filter = EVERYTHING, reach: Reach = LIBRARY) -> list[Hit]:
        """The best k passages for a question in the documents that the filter lets through, as a turn finds them. Those
        that a turn leaves out, for they instruct the assistant, are among them: see `is_suspect`."""
        check_filter(where)
        hits = find(SearchQuery(query, where=where, reach=reach), k, self.index.search, self._parts.reranker)
        rail = self._parts.guard.instructions
        if rail is None:
            return hits
        passages = rail.looked_at(self.index, [hit.passage for hit in hits])
        return [dataclasses.replace(hit, passage=passage) for hit, passage in zip(hits, passages, strict=True)]

    def find(self, query: SearchQuery, k: int) -> list[Hit]:
        """The best k passages for a query as a turn makes it."""
        return find(query, k, self.index.search, self._parts.reranker)

    def is_suspect(self, passage: Passage) -> bool:
        """Whether turns leave a passage out or warn of it, for it seems to instruct the assistant."""
        rail = self._parts.guard.instructions
        return rail is not None and rail.is_suspect(passage)

    def chat(self, conversation_id: str | None = None, where: Filter = EVERYTHING) -> Chat:
        """A conversation kept in the library; a new one where no id is given. With a filter, only the documents that it
        lets through answer."""
        return Chat(self, conversation_id or uuid.uuid4().hex, where)

    def prepare(self) -> None:
        """Do what the models can do before they are first asked, such as loading. Raises a ModelError."""
        for model in self.models:
            if prepare := getattr(model, "prepare", None):
                prepare()

    def process_query(self, query_id: str, query: str, session_id: str) -> Reply:
        """One turn of the conversation of that id: its history in, a plan, what the plan finds, the answer, and the
        history updated. The plan of the reply carries the query id. Raises TurnFailed where it ended in an error."""
        return self.run(self.answer(TurnRequest(query, conversation_id=session_id, query_id=query_id)))

    def stream(self, request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        """One turn as it happens. It never raises for bad input or a failing model: it ends in Answered or Failed."""
        return run_turn(request, self._parts)

    async def answer(self, request: TurnRequest) -> Reply:
        """One turn, when it is done. Raises TurnFailed where it ended in an error."""
        async with aclosing(self.stream(request)) as events:
            async for event in events:
                if isinstance(event, Answered):
                    return event.reply
                if isinstance(event, Failed):
                    raise TurnFailed(event)
        raise AssertionError("a turn ends in Answered or Failed")

    def analyze(self, request: TurnRequest) -> Analysis:
        """What a message is to its conversation: intent, follow-up, state and the question it stands for. Nothing is
        searched, answered or stored."""
        return analyze(request, self._parts)

    async def admit(self, request: TurnRequest) -> None:
        """Count a message that is looked at and not answered. Raises TooManyRequests where a limit was reached."""
        await admit(request, self._parts.limits)

    def sent(self, conversation: Conversation, turn: int, reach: Reach = LIBRARY) -> tuple[Message, ...]:
        """What a language model was sent in a turn of a conversation; nothing where it was not asked."""
        return messages_sent_in(conversation, turn, self._parts, reach)

    def memory(self, user: str = "", tenant: str = "") -> Profile:
        """What is remembered of a user across conversations. Nothing is unless they wish it: see `set_memory`."""
        return Profile.from_dict(self.store.profiles.profile(tenant, user))

    def set_memory(self, profile: Profile | Mapping[str, Any], user: str = "", tenant: str = "") -> Profile:
        """Keep this of a user, in place of what was kept; with `enabled`, turns use it and add to it. Gives it as it is
        kept. Raises MessageBlocked for a preference that would be refused as a message."""
        given = Profile.from_dict(profile.to_dict() if isinstance(profile, Profile) else profile)
        judged = {each: self.guard.judge_input(each) for each in given.preferences}
        if refused := [each for each, result in judged.items() if result.blocked]:
            raise MessageBlocked(f"“{refused[0]}” is not kept: {judged[refused[0]].why}.", "Put it another way.")
        wished = [result.sanitized for result in judged.values()]
        kept = Profile.from_dict({**given.to_dict(), "preferences": wished})
        self.store.profiles.put(tenant, user, kept.to_dict())
        return kept

    def forget(self, user: str = "", tenant: str = "") -> bool:
        """Erase all that is remembered of a user, and remember nothing more. False where there was nothing."""
        return self.store.profiles.delete(tenant, user)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for async work from plain code, also where a loop is already running (a notebook)."""
        if self._background is None:
            self._background = _Loop()
        return self._background.wait(work)

    def keeping(self, store: ConversationStore) -> Engine:
        """The same library and models, with conversations kept elsewhere. Close this engine, not that one."""
        return Engine(self.settings, self.index, store, dataclasses.replace(self._parts, store=store), self._data)

    def close(self) -> None:
        if self._background is not None:
            self._background.stop()
        self.index.close()
        if self._parts.limits:
            self._parts.limits.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
        """What a language model was sent in a turn of this conversation; nothing where it was not asked."""
        return self._engine.sent(self.history, turn)

    def _request(self, message: str, condensed_query: str | None) -> TurnRequest:
        return TurnRequest(message, (), self.id, condensed_query, self.where)


class _Loop:
    """An event loop on a thread of its own, for callers that are not async."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="turnwise", daemon=True)
        self._thread.start()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def stop(self) -> None:
        self.wait(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
