"""The only place that wires parts together: settings in, Engine out."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from turnwise import postgres
from turnwise.config import Settings, data_folder
from turnwise.dialogue.language import read_language
from turnwise.dialogue.presets import load_preset
from turnwise.dialogue.tokens import longest_answer
from turnwise.dialogue.tracker import ConversationTracker
from turnwise.engine import Engine
from turnwise.errors import ConfigError, LibraryError, LibraryNotFound
from turnwise.guard.limit_stores import rate_limiter
from turnwise.guard.limits import RateLimiter
from turnwise.guard.pipeline import GuardrailPipeline
from turnwise.index.embedded import EmbeddedIndex
from turnwise.models.breaker import Breaker
from turnwise.models.condenser import OnnxCondenser
from turnwise.models.embedder import OnnxEmbedder, QuickEmbedder
from turnwise.models.extractive import ExtractiveAnswerer
from turnwise.models.guard import OnnxGuard
from turnwise.models.local import MAX_ANSWER_TOKENS, WINDOW_TOKENS, LocalChat
from turnwise.models.openai_chat import OpenAIChat, sampling_extras
from turnwise.models.reranker import OnnxReranker
from turnwise.models.vocabulary import is_english
from turnwise.sqlite import Database
from turnwise.store.embedded import EmbeddedStore
from turnwise.tools.calculator import Calculator
from turnwise.tools.database import Database as DataTool
from turnwise.turn.condense import QueryCondenser
from turnwise.turn.planner import QueryAnalyzer, QueryPlanner
from turnwise.turn.run import Parts
from turnwise.turn.understand import Senses
from turnwise.types import (
    ChatModel,
    ConversationStore,
    Embedder,
    Index,
    Progress,
    Reranker,
    Rewriter,
)

DATABASE = "library.db"
LIMITS = "limits.db"


def build(settings: Settings, create: bool = False, tables: Iterable[str | Path] = ()) -> Engine:
    """An engine over the library that the settings name. With `create`, the library is made where there is none. The
    tables are attached besides those that are set."""
    breaker = Breaker()
    data = data_tool(settings, tables, breaker)
    embedder = embedder_of(settings)
    reads = passage_embedder(settings, embedder)
    index, store = (_in_postgres if settings.database else _embedded)(settings, reads, create)
    return engine_over(settings, index, store, senses_of(settings, embedder), reranker_of(settings), data, breaker)


def engine_over(
    settings: Settings,
    index: Index,
    store: ConversationStore,
    senses: Senses,
    reranker: Reranker | None,
    data: DataTool | None = None,
    breaker: Breaker | None = None,
) -> Engine:
    """An engine over an index and a store that are open."""
    data = data or DataTool()
    ours = reranker if isinstance(reranker, OnnxReranker) and settings.rerank == "quick" else None
    extractive = ExtractiveAnswerer(ours or OnnxReranker(threads=settings.threads))  # weights are read once for both
    models = chat_models(settings, extractive, breaker)
    parts = Parts(
        settings,
        index,
        store,
        guard_of(settings, senses.embedder),
        models,
        dataclasses.replace(senses, tracker=ConversationTracker(load_preset(settings.preset), index.terms)),
        query_condenser(settings, models[0], breaker),
        reranker,
        tools=(Calculator(read_language), *((data,) if data.tables else ())),
        planner=query_planner(settings, breaker),
        answers=extractive.answers,
        limits=limiter_of(settings),
    )
    return Engine(settings, index, store, parts, data)


def _embedded(settings: Settings, embedder: Embedder, create: bool) -> tuple[Index, ConversationStore]:
    database = Database(_library(settings, create) / DATABASE, settings.durable)
    return EmbeddedIndex(database, embedder), EmbeddedStore(database)


def _in_postgres(settings: Settings, embedder: Embedder, create: bool) -> tuple[Index, ConversationStore]:
    from turnwise.index.postgres import PostgresIndex
    from turnwise.store.postgres import PostgresStore

    database = postgres.Database(settings.database)
    try:
        if not create and not database.has_tables():
            raise LibraryNotFound(
                f"There is no library in {database.name}.",
                "Make one from your documents: turnwise add DOCUMENTS --database postgres://…"
                "   (or move one there: turnwise copy)",
            )
        return PostgresIndex(database, embedder), PostgresStore(database)
    except BaseException:
        database.close()
        raise


def build_sample(settings: Settings, progress: Progress | None = None, tables: Iterable[str | Path] = ()) -> Engine:
    """An engine over the bundled sample library, made on first use in a folder of the user's account."""
    engine = build(settings, create=True, tables=tables)
    with resources.as_file(resources.files("turnwise") / "sample") as folder:
        for document in engine.index.documents():
            path = Path(document.source)
            if path.is_absolute() and not path.is_relative_to(folder.resolve()):  # of an installation that has moved
                engine.remove(document.source)
        engine.add(folder, progress=progress)
    return engine


def embedder_of(settings: Settings) -> OnnxEmbedder:
    return OnnxEmbedder(Path(settings.embedder) if settings.embedder else None, settings.threads)


def passage_embedder(settings: Settings, embedder: OnnxEmbedder) -> Embedder:
    """Who embeds documents: the distilled network, unless the user chose otherwise or has an embedder of their own."""
    if settings.embed not in ("quick", "quality"):
        raise ConfigError(f"'embed' cannot be {settings.embed!r}.", "Set it to quick or quality.")
    return (
        embedder
        if settings.embedder or settings.embed == "quality"
        else QuickEmbedder(embedder, threads=settings.threads)
    )


def reranker_of(settings: Settings) -> OnnxReranker | None:
    """Who puts what a search finds in order, if anyone."""
    match settings.rerank:
        case "off":
            return None
        case "quick" | "quality":
            return OnnxReranker(settings.rerank == "quality", threads=settings.threads)
        case other:
            raise ConfigError(f"'rerank' cannot be {other!r}.", "Set it to quick, quality or off.")


def guard_of(settings: Settings, embedder: Embedder | None) -> GuardrailPipeline:
    """The rails around a turn, as the preset that is set describes them."""
    networks = OnnxGuard(threads=settings.threads)
    return GuardrailPipeline(settings.guard, max_message=settings.max_message, embedder=embedder, classifier=networks)


def senses_of(settings: Settings, embedder: Embedder) -> Senses:
    """What messages are understood with, before there is a library."""
    return Senses(embedder, OnnxCondenser(threads=settings.threads), is_english=is_english)


def chat_models(
    settings: Settings, extractive: ExtractiveAnswerer, breaker: Breaker | None = None
) -> tuple[ChatModel, ...]:
    """Who answers: the language model that was set, if any, and beneath it sentences from the documents."""
    if settings.local:
        return (_local(settings), extractive)
    if not settings.endpoint:
        return (extractive,)
    known = settings.context_tokens  # an endpoint may refuse what could outgrow its window
    model = OpenAIChat(
        settings.endpoint,
        os.environ.get("OPENAI_API_KEY"),
        settings.model,
        settings.temperature,
        settings.top_p,
        min(settings.max_tokens, longest_answer(known)) if known else settings.max_tokens,
        settings.model_timeout,
        sampling_extras(settings.top_k, settings.repeat_penalty),
        breaker,
        sees=settings.vision,
    )
    return (model, extractive)


def _local(settings: Settings) -> LocalChat:
    unset = settings.max_tokens == Settings().max_tokens
    return LocalChat(
        None if settings.model == "local" else Path(settings.model),
        settings.temperature,
        settings.top_p,
        MAX_ANSWER_TOKENS if unset else settings.max_tokens,
        settings.model_timeout,
        settings.top_k,
        settings.repeat_penalty,
        settings.threads,
        settings.context_tokens or WINDOW_TOKENS,
    )


def query_condenser(
    settings: Settings, model: ChatModel | None = None, breaker: Breaker | None = None
) -> QueryCondenser:
    """Who condenses: the embedded ways, and above them the language model where it is switched in."""
    rewriter = rewriter_of(settings, 150, model, breaker) if settings.condense_with_model else None
    return QueryCondenser(rewriter, settings.condense_timeout) if rewriter else QueryCondenser()


def query_planner(settings: Settings, breaker: Breaker | None = None) -> QueryPlanner:
    """Who plans: the form of a message, and above it the model behind the endpoint unless it is switched off."""
    if not (settings.endpoint and settings.plan_with_model):
        return QueryPlanner()
    return QueryPlanner(QueryAnalyzer(rewriter_of(settings, 400, breaker=breaker), settings.plan_timeout))


def rewriter_of(
    settings: Settings, max_tokens: int, model: ChatModel | None = None, breaker: Breaker | None = None
) -> Rewriter | None:
    """The language model as one that does small work for a turn, if there is one: the one that answers where it is
    local, since it is in memory only once; else one that shares its endpoint."""
    if settings.local:
        return model if isinstance(model, LocalChat) else _local(settings)
    if not settings.endpoint:
        return None
    return OpenAIChat(
        settings.endpoint,
        os.environ.get("OPENAI_API_KEY"),
        settings.model,
        temperature=0.2,
        top_p=0.9,
        max_tokens=max_tokens,
        timeout=settings.model_timeout,
        breaker=breaker,
    )


def limiter_of(settings: Settings) -> RateLimiter | None:
    """Who counts messages, if they are limited."""
    limits = {
        "conversation": settings.limit_conversation,
        "user": settings.limit_user,
        "key": settings.limit_key,
        "address": settings.limit_address,
    }
    file = library_folder(settings) / LIMITS
    return rate_limiter(limits, settings.limits_store, file, settings.limits_fail_closed)


def data_tool(settings: Settings, tables: Iterable[str | Path] = (), breaker: Breaker | None = None) -> DataTool:
    """Who answers questions about tables, with those attached that are set, and these."""
    tool = DataTool(rewriter_of(settings, 500, breaker=breaker) if settings.endpoint else None)
    for place in (*filter(None, map(str.strip, settings.data.split(","))), *tables):
        tool.attach(place)
    return tool


def library_folder(settings: Settings) -> Path:
    return Path(settings.library).expanduser() if settings.library else data_folder() / "library"


def library_place(settings: Settings) -> str:
    """Where the library is, as it may be shown."""
    return postgres.name_of(settings.database) if settings.database else str(library_folder(settings))


def _library(settings: Settings, create: bool) -> Path:
    folder = library_folder(settings)
    if not create and not (folder / DATABASE).is_file():
        raise LibraryNotFound(
            f"There is no library at {folder}.",
            f"Make one from your documents: turnwise add DOCUMENTS --library {folder}   (or try --sample)",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LibraryError(f"The library folder {folder} cannot be made: {error}", "Choose another folder.") from error
    return folder
