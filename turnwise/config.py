"""The settings: one frozen value, filled from defaults < turnwise.toml < TURNWISE_* environment < arguments."""

from __future__ import annotations

import dataclasses
import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

from turnwise.errors import ConfigError


def _setting(default: Any, about: str) -> Any:
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True, slots=True)
class Settings:
    """Every knob of Turnwise. The key in turnwise.toml is the field's name; in the environment, TURNWISE_<NAME>."""

    library: str = _setting("", "Folder of the library. Empty: a folder of your user account.")
    database: str = _setting(
        "", "PostgreSQL to keep the library in: postgres://USER:PASSWORD@HOST/NAME. Empty: the folder."
    )
    data: str = _setting(
        "", "Tables to ask too: CSV, TSV, Parquet or SQLite files, or postgres://…, with commas between. Only read."
    )
    durable: bool = _setting(False, "Wait for the disk at every turn too, so that even a power cut loses nothing.")

    model: str = _setting(
        "", "Chat model: its name at the endpoint (empty: the first one), a GGUF file of yours, or local."
    )
    base_url: str = _setting("", "An OpenAI-compatible endpoint (also OPENAI_BASE_URL). Empty: answer without a model.")
    model_timeout: float = _setting(60.0, "Seconds to wait for the model's next words before falling back.")
    temperature: float = _setting(0.35, "Sampling temperature sent to the model.")
    top_p: float = _setting(0.9, "Nucleus sampling sent to the model.")
    top_k: int = _setting(50, "The same by rank, where the provider has it. 0: not sent.")
    repeat_penalty: float = _setting(1.15, "Penalty for repeating words, where the provider has it. 0: not sent.")
    max_tokens: int = _setting(
        2000, "Longest answer asked of the model, in tokens; of a local one 512 unless this is set."
    )

    embedder: str = _setting("", "Folder with model.onnx and tokenizer.json. Empty: the pinned bge-small-en-v1.5.")
    embed: str = _setting("quick", "Who makes the vectors of documents: quick, or quality (four times slower).")
    threads: int = _setting(0, "Threads for embedding. 0: one a core.")

    evidence: int = _setting(6, "Passages an answer may draw on (at most 8).")
    added_weight: float = _setting(1.0, "How much a word added from the conversation counts, times its probability.")
    talk_weight: float = _setting(0.3, "How much all that was asked of late counts in the search for a follow-up.")
    rerank: str = _setting("quick", "Who orders what is found: quick, quality (better, eight times slower) or off.")

    condense_with_model: bool = _setting(
        False, "Let the chat model rewrite follow-ups too; what it may not say is refused."
    )
    condense_timeout: float = _setting(3.0, "Seconds it may take for that before the embedded way stands.")

    plan_with_model: bool = _setting(
        True, "Let the model behind base_url plan messages that may take several steps; nothing without one."
    )
    plan_timeout: float = _setting(5.0, "Seconds it may take for that before the plan by form stands.")

    history_messages: int = _setting(20, "Most messages of the conversation that a model is sent whole.")
    context_tokens: int = _setting(
        0, "Tokens of the model's window (at least 1024). 0: what the model says; 8192 where it says nothing."
    )
    spelling: bool = _setting(True, "Whether a mistyped word is read as the word of the documents that it is near to.")
    follow_up: bool = _setting(True, "Whether a message is read in the light of those before it.")
    follow_up_threshold: float = _setting(0.5, "Confidence from which a message counts as a follow-up.")
    memory_seconds: float = _setting(300.0, "Silence after which an old topic pulls less at a vague message.")
    topic_signal: bool = _setting(True, "Whether a message that leaves the topic is marked as such.")

    suggestions: int = _setting(3, "Most questions suggested after an answer, each seen to be answerable. 0: none.")
    preset: str = _setting("general", "Topics and guidance: general, tutor, academic, support, or a file of your own.")

    guard: str = _setting(
        "general",
        "Rails around a turn: general, customer_service, tutor, academic, strict, off, or a file of yours.",
    )

    style: str = _setting(
        "", "Citation style of the sources: apa, ieee, any other CSL style, or a .csl file. Empty: none."
    )

    max_message: int = _setting(16000, "Longest message taken, in characters.")
    max_body: int = _setting(2_000_000, "Largest request body the server takes, in bytes.")
    limit_conversation: str = _setting(
        "", "Most messages in one conversation: 30/minute, 1000/day, 20/minute burst 5. Empty: no limit."
    )
    limit_user: str = _setting("", "The same for one user, as the caller names them.")
    limit_key: str = _setting("", "The same for one key; where the server is open, as sent in Authorization: Bearer.")
    limit_address: str = _setting("", "The same for one address that requests come from.")
    limits_store: str = _setting(
        "memory", "Where messages are counted: memory, sqlite (the processes of one machine) or redis://HOST:PORT."
    )
    limits_fail_closed: bool = _setting(
        False, "Refuse messages while those cannot be counted there. Else each process counts by itself meanwhile."
    )
    proxies: int = _setting(0, "Proxies of yours before the server; so many addresses of X-Forwarded-For are believed.")
    host: str = _setting("127.0.0.1", "Address the server listens on.")
    port: int = _setting(8000, "Port the server listens on.")
    access: str = _setting(
        "auto",
        "Who may call: keys (who has one), open (anyone), or auto: open on this machine until a key is made.",
    )
    cors: str = _setting(
        "", "Web pages elsewhere that may call: https://chat.example.org, with commas between. Empty: none."
    )
    max_upload: int = _setting(100_000_000, "Largest document the server takes, in bytes.")
    resume_seconds: float = _setting(60.0, "Seconds that an answer goes on without a reader, and can be read again.")
    turns_at_once: int = _setting(0, "Turns worked on at the same time; the others wait. 0: two a core.")
    vision: bool = _setting(False, "Whether the chat model can see. Images are sent to it; else they are declined.")
    logs: str = _setting("text", "Lines of the server's log: text, or json.")
    trace_text: bool = _setting(
        False, "Whether traces sent by OpenTelemetry hold what was asked and answered. Else only what was decided."
    )

    @property
    def local(self) -> bool:
        """Whether the chat model runs on this machine. Some endpoints name models by files too: a path means ours."""
        ours = not self.base_url or self.model.startswith(("/", ".", "~"))
        return self.model == "local" or (self.model.endswith(".gguf") and ours)

    @property
    def endpoint(self) -> str:
        """The address of the chat model, empty where there is none."""
        return "" if self.local else self.base_url


FILE = "turnwise.toml"
PREFIX = "TURNWISE_"


@dataclass(frozen=True, slots=True)
class Origin:
    """A setting as it stands, and who set it: default, a file, an environment variable or an argument."""

    name: str
    value: Any
    origin: str
    about: str


def load(
    arguments: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> tuple[Settings, list[Origin]]:
    """The settings in force and where each came from. `file` defaults to turnwise.toml here, if there is one."""
    environment = os.environ if environment is None else environment
    types = get_type_hints(Settings)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}

    def put(name: str, value: Any, origin: str) -> None:
        if name not in types:
            raise _unknown(name, origin, types)
        values[name] = _fit(name, value, types[name], origin)
        origins[name] = origin

    for name, value in _read(file).items():
        put(name, value, str(file or FILE))
    if environment.get("OPENAI_BASE_URL"):
        put("base_url", environment["OPENAI_BASE_URL"], "OPENAI_BASE_URL")
    for key, text in environment.items():
        if key.startswith(PREFIX):
            put(key.removeprefix(PREFIX).lower(), text, key)
    for name, value in (arguments or {}).items():
        if value is not None:
            put(name, value, "argument")

    settings = Settings(**values)
    return settings, [
        Origin(f.name, getattr(settings, f.name), origins.get(f.name, "default"), f.metadata["about"])
        for f in dataclasses.fields(Settings)
    ]


def data_folder() -> Path:
    """Where this user's libraries live when no folder is named."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "turnwise"


def _read(file: Path | None) -> dict[str, Any]:
    path = file or Path(FILE)
    if file is None and not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", "Mend it or move it away.") from error


def _unknown(name: str, origin: str, known: Mapping[str, Any]) -> ConfigError:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean '{near[0]}'?" if near else f"These can be set: {', '.join(sorted(known))}."
    return ConfigError(f"Unknown setting '{name}' in {origin}.", hint)


def _fit(name: str, value: Any, kind: type, origin: str) -> Any:
    if isinstance(value, str) and kind is not str:
        value = _from_text(value, kind)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise ConfigError(f"'{name}' in {origin} should be {_spoken[kind]}, not {value!r}.", "Change it there.")
    return value


_spoken = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def _from_text(text: str, kind: type) -> Any:
    if kind is bool:
        return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(text.lower(), text)
    try:
        return kind(text)
    except ValueError:
        return text
