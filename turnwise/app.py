"""The only place that wires parts together: settings in, Engine out."""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import cast

from turnwise import postgres
from turnwise.citations import find_style
from turnwise.config import Settings, data_folder
from turnwise.dialogue.language import read_language
from turnwise.dialogue.presets import load_preset
from turnwise.dialogue.tokens import longest_answer
from turnwise.dialogue.tracker import ConversationTracker
from turnwise.engine import Engine
from turnwise.errors import BadRequest, ConfigError, LibraryError, LibraryNotFound
from turnwise.extractive import ExtractiveAnswerer
from turnwise.guard.limit_stores import rate_limiter
from turnwise.guard.limits import RateLimiter
from turnwise.guard.pipeline import GuardrailPipeline
from turnwise.index.embedded import EmbeddedIndex
from turnwise.models.breaker import Breaker
from turnwise.models.condenser import OnnxCondenser
from turnwise.models.embedder import CheckedEmbedder, OnnxEmbedder, QuickEmbedder
from turnwise.models.guard import OnnxGuard
from turnwise.models.local import MAX_ANSWER_TOKENS, WINDOW_TOKENS, LocalChat
from turnwise.models.matcher import WordMatcher
from turnwise.models.openai_chat import OpenAIChat, sampling_extras
from turnwise.models.reranker import ForeignJudge, OnnxReranker
from turnwise.models.vocabulary import is_english
from turnwise.models.weights import PINNED_NAME
from turnwise.sqlite import Database
from turnwise.store.embedded import EmbeddedStore
from turnwise.tools.calculator import Calculator
from turnwise.tools.database import DatabaseTool
from turnwise.turn.condense import QueryCondenser
from turnwise.turn.parts import Parts
from turnwise.turn.planner import QueryAnalyzer, QueryPlanner
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


def build(
    settings: Settings,
    create: bool = False,
    tables: Iterable[str | Path] = (),
    *,
    model: ChatModel | Sequence[ChatModel] | None = None,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
) -> Engine:
    """An engine over the library that the settings name. With `create`, the library is made if there is none. The
    tables are attached in addition to those that are set. A model (or several that are tried in order), an embedder
    and a re-ranker given here take the place of those that are set."""
    models = own_models(model)
    if models:
        settings = dataclasses.replace(settings, model="", base_url="")  # nobody else is asked
    if settings.model and not (settings.endpoint or settings.local):
        raise ConfigError(
            f"There is no endpoint to ask for the model {settings.model!r}.",
            "Set OPENAI_BASE_URL, such as https://api.openai.com/v1, or set the model to a .gguf file or to local. "
            "Without a model, answers are sentences from your documents.",
        )
    if settings.style:
        find_style(settings.style)
    if embedder is not None:
        _require("embedder", embedder, ("name", "dimension", "embed_query", "embed_passages"))
    if reranker is not None:
        _require("reranker", reranker, ("name", "reads", "trust", "scores"))
    breaker = Breaker()
    data = data_tool(settings, tables, breaker, models)
    questions = embedder_of(settings) if embedder is None else CheckedEmbedder(embedder)
    passages = passage_embedder(settings, questions)
    index, store = (_in_postgres if settings.database else _embedded)(settings, passages, create)
    orders = reranker_of(settings) if reranker is None else reranker
    return engine_over(settings, index, store, senses_of(settings, questions), orders, data, breaker, models)


def own_models(given: ChatModel | Sequence[ChatModel] | None) -> tuple[ChatModel, ...]:
    """The user's own models, in the order in which they are tried. Raises ConfigError if one cannot be a model."""
    if given is None:
        return ()
    models = tuple(given) if isinstance(given, list | tuple) else (cast(ChatModel, given),)
    if not models:
        raise ConfigError("'model' cannot be an empty list.", "Leave it out to answer without a model of your own.")
    for each in models:
        _require("model", each, ("name", "stream"))
    return models


def _require(setting: str, given: object, parts: Sequence[str]) -> None:
    if isinstance(given, type):
        raise ConfigError(f"'{setting}' cannot be the class {given.__name__}.", f"Give it {given.__name__}(...).")
    if missing := [part for part in parts if not hasattr(given, part)]:
        hint = f"Give it an object with {', '.join(parts[:-1])} and {parts[-1]}."
        raise ConfigError(f"'{setting}' cannot be {given!r}: it has no `{missing[0]}`.", hint)


def engine_over(
    settings: Settings,
    index: Index,
    store: ConversationStore,
    senses: Senses,
    reranker: Reranker | None,
    data: DatabaseTool | None = None,
    breaker: Breaker | None = None,
    models: Sequence[ChatModel] = (),
) -> Engine:
    """An engine over an index and a store that are open."""
    data = data or DatabaseTool()
    extractive = answerer_of(settings, reranker)
    models = (*models, extractive) if models else chat_models(settings, extractive, breaker)
    parts = Parts(
        settings,
        index,
        store,
        guard=guard_of(settings, senses.embedder),
        models=models,
        senses=dataclasses.replace(senses, tracker=ConversationTracker(load_preset(settings.preset), index.terms)),
        condenser=query_condenser(settings, models[0], breaker),
        reranker=reranker,
        tools=(Calculator(read_language), *((data,) if data.tables else ())),
        planner=query_planner(settings, breaker, models[0]),
        answers=extractive.answers,
        limits=limiter_of(settings),
    )
    return Engine(parts, data)


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
    """An engine over the bundled sample library, made on first use in a folder in the user's account."""
    engine = build(settings, create=True, tables=tables)
    with resources.as_file(resources.files("turnwise") / "sample") as folder:
        for document in engine.index.documents():
            path = Path(document.source)
            if path.is_absolute() and not path.is_relative_to(folder.resolve()):  # the installation has moved
                engine.remove(document.source)
        new = not engine.index.counts().documents
        engine.read(folder, progress=progress if new else None)
        engine.embed(progress)
    return engine


def pinned_embedder(settings: Settings) -> OnnxEmbedder:
    """What messages are compared with, whatever the documents have: cosines of another mean other things."""
    return OnnxEmbedder(threads=settings.threads)


def embedder_of(settings: Settings) -> OnnxEmbedder:
    """The embedder of questions to the documents."""
    return OnnxEmbedder(Path(settings.embedder) if settings.embedder else None, settings.threads)


def passage_embedder(settings: Settings, embedder: Embedder) -> Embedder:
    """The embedder of documents: the distilled network, unless the user chose otherwise or has their own."""
    if settings.embedder or settings.embed == "quality" or not isinstance(embedder, OnnxEmbedder):
        return embedder
    return QuickEmbedder(embedder, threads=settings.threads)


def reranker_of(settings: Settings) -> OnnxReranker | None:
    """The model that orders what a search finds, or None."""
    if settings.rerank == "off":
        return None
    return OnnxReranker(settings.rerank == "quality", threads=settings.threads)


def answerer_of(settings: Settings, reranker: Reranker | None) -> ExtractiveAnswerer:
    """What answers without a language model. If the re-ranker is the quick one, it is the judge too: its weights are
    loaded once for both."""
    ours = reranker if isinstance(reranker, OnnxReranker) and settings.rerank == "quick" else None
    judge = ours or OnnxReranker(threads=settings.threads)
    return ExtractiveAnswerer(judge, WordMatcher(), ForeignJudge(threads=settings.threads))


def guard_of(settings: Settings, embedder: Embedder | None) -> GuardrailPipeline:
    """The rails around a turn, as the chosen preset describes them."""
    networks = OnnxGuard(threads=settings.threads)
    return GuardrailPipeline(settings.guard, max_message=settings.max_message, embedder=embedder, classifier=networks)


def senses_of(settings: Settings, embedder: Embedder) -> Senses:
    """What messages are understood with, before there is a library."""
    if embedder.name != PINNED_NAME:
        embedder = pinned_embedder(settings)
    return Senses(embedder, OnnxCondenser(threads=settings.threads), is_english=is_english)


def chat_models(
    settings: Settings, extractive: ExtractiveAnswerer, breaker: Breaker | None = None
) -> tuple[ChatModel, ...]:
    """The models that answer: the language model that was set, if any, then sentences from the documents."""
    if settings.local:
        return (_local(settings), extractive)
    if not settings.endpoint:
        return (extractive,)
    known = settings.context_tokens  # an endpoint may refuse a request that could exceed its window
    model = OpenAIChat(
        settings.endpoint,
        os.environ.get("OPENAI_API_KEY"),
        model=settings.model,
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_tokens=min(settings.max_tokens, longest_answer(known)) if known else settings.max_tokens,
        timeout=settings.model_timeout,
        extras=sampling_extras(settings.top_k, settings.repeat_penalty),
        breaker=breaker,
        sees=settings.vision,
    )
    return (model, extractive)


def _local(settings: Settings) -> LocalChat:
    unset = settings.max_tokens == Settings().max_tokens
    return LocalChat(
        None if settings.model == "local" else Path(settings.model),
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_tokens=MAX_ANSWER_TOKENS if unset else settings.max_tokens,
        timeout=settings.model_timeout,
        top_k=settings.top_k,
        repeat_penalty=settings.repeat_penalty,
        threads=settings.threads,
        window=settings.context_tokens or WINDOW_TOKENS,
    )


def query_condenser(
    settings: Settings, model: ChatModel | None = None, breaker: Breaker | None = None
) -> QueryCondenser:
    """The condenser: the built-in ways, and on top of them the language model if that is switched on."""
    rewriter = rewriter_of(settings, 150, model, breaker) if settings.condense_with_model else None
    return QueryCondenser(rewriter, settings.condense_timeout) if rewriter else QueryCondenser()


def query_planner(settings: Settings, breaker: Breaker | None = None, model: ChatModel | None = None) -> QueryPlanner:
    """The planner: by the form of a message, and on top of that by a model, unless it is local or switched off."""
    if settings.local or not settings.plan_with_model:
        return QueryPlanner()
    rewriter = rewriter_of(settings, 400, model, breaker)
    return QueryPlanner(QueryAnalyzer(rewriter, settings.plan_timeout)) if rewriter else QueryPlanner()


def rewriter_of(
    settings: Settings, max_tokens: int, model: ChatModel | None, breaker: Breaker | None
) -> Rewriter | None:
    """A language model for small tasks within a turn, or None: the one that answers if it is local (it is in memory
    only once) or the user's own, otherwise one that shares its endpoint."""
    if settings.local:
        return model if isinstance(model, LocalChat) else _local(settings)
    if not settings.endpoint:
        return cast(Rewriter, model) if hasattr(model, "rewrite") else None
    return OpenAIChat(
        settings.endpoint,
        os.environ.get("OPENAI_API_KEY"),
        model=settings.model,
        temperature=0.2,
        top_p=0.9,
        max_tokens=max_tokens,
        timeout=settings.model_timeout,
        breaker=breaker,
    )


def limiter_of(settings: Settings) -> RateLimiter | None:
    """The counter of messages, or None if they are not limited."""
    limits = {
        "conversation": settings.limit_conversation,
        "user": settings.limit_user,
        "key": settings.limit_key,
        "address": settings.limit_address,
    }
    file = library_folder(settings) / LIMITS
    return rate_limiter(limits, settings.limits_store, file, settings.limits_fail_closed)


def data_tool(
    settings: Settings,
    tables: Iterable[str | Path] = (),
    breaker: Breaker | None = None,
    models: Sequence[ChatModel] = (),
) -> DatabaseTool:
    """The tool that answers questions about tables, with these and those that are set attached."""
    model = models[0] if models else None
    tool = DatabaseTool(None if settings.local else rewriter_of(settings, 500, model, breaker))
    for place in (*filter(None, map(str.strip, settings.data.split(","))), *tables):
        tool.attach(place)
    return tool


def place_of(library: object) -> str:
    """The folder or address that a caller names as their library. Raises BadRequest for anything else."""
    if not isinstance(library, str | Path):
        raise BadRequest(f"{library!r:.80} is no place of a library.", "Give the path of a folder, or postgres://….")
    return str(library)


def library_folder(settings: Settings) -> Path:
    return Path(settings.library).expanduser() if settings.library else data_folder() / "library"


def library_place(settings: Settings) -> str:
    """Where the library is, without any password."""
    return postgres.name_of(settings.database) if settings.database else str(library_folder(settings))


def _library(settings: Settings, create: bool) -> Path:
    folder = library_folder(settings)
    if not create and not (folder / DATABASE).is_file():
        named = f" --library {shlex.quote(str(folder))}" if settings.library else ""
        raise LibraryNotFound(
            f"There is no library at {folder}.",
            f"Make one from your documents: turnwise add DOCUMENTS{named}   (or try --sample)",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LibraryError(
            f"The library folder {folder} cannot be made: {error.strerror}.", "Choose another folder with --library."
        ) from error
    return folder
