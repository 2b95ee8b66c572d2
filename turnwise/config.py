"""The settings: one frozen value, filled from defaults < turnwise.toml < TURNWISE_* environment < arguments."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from turnwise.errors import ConfigError, did_you_mean

Setting = dataclasses.Field[Any]  # of Settings


def _setting(
    default: Any, about: str, least: float | None = None, most: float | None = None, or_zero: bool = False
) -> Any:
    """A setting, with its range if it is a number. `or_zero` allows 0 too, although it is below `least`."""
    return field(default=default, metadata={"about": about, "least": least, "most": most, "or_zero": or_zero})


@dataclass(frozen=True, slots=True)
class Settings:
    """Every knob of Turnwise. The key in turnwise.toml is the field's name; in the environment, TURNWISE_<NAME>."""

    library: str = _setting("", "Folder of the library. Empty: a folder in your user account.")
    database: str = _setting(
        "", "PostgreSQL database to keep the library in: postgres://USER:PASSWORD@HOST/NAME. Empty: use the folder."
    )
    data: str = _setting(
        "",
        "Tables to ask as well: CSV, TSV, Parquet or SQLite files, or postgres://…, separated by commas. They are only"
        " read.",
    )
    durable: bool = _setting(False, "Wait for the disk at every turn too, so that not even a power cut loses anything.")

    model: str = _setting(
        "", "Chat model: its name at the endpoint (empty: the first one), a GGUF file of yours, or local."
    )
    base_url: str = _setting("", "An OpenAI-compatible endpoint (also OPENAI_BASE_URL). Empty: answer without a model.")
    model_timeout: float = _setting(60.0, "Seconds to wait for the model's next words before falling back.", least=0)
    temperature: float = _setting(0.35, "Sampling temperature sent to the model.", least=0, most=2)
    top_p: float = _setting(0.9, "Nucleus sampling sent to the model.", least=0, most=1)
    top_k: int = _setting(50, "Top-k sampling, if the provider supports it. 0: not sent.", least=0)
    repeat_penalty: float = _setting(
        1.15, "Penalty for repeating words, if the provider supports it. 0: not sent.", least=0, most=10
    )
    max_tokens: int = _setting(
        2000,
        "Longest answer asked of the model, in tokens. A local one is asked for 512 unless this is set.",
        least=1,
    )

    embedder: str = _setting(
        "", "Folder of an ONNX embedder as sentence-transformers lays it out. Empty: the pinned bge-small-en-v1.5."
    )
    embed: Literal["quick", "quality"] = _setting(
        "quick", "Which network makes the vectors of documents; quality is four times slower."
    )
    threads: int = _setting(0, "Threads for embedding. 0: one per core.", least=0)

    evidence: int = _setting(6, "Passages an answer may draw on.", least=1, most=8)
    added_weight: float = _setting(
        1.0, "How much a word added from the conversation counts, times its probability.", least=0
    )
    talk_weight: float = _setting(
        0.3, "How much everything asked recently counts in the search for a follow-up.", least=0
    )
    rerank: Literal["quick", "quality", "off"] = _setting(
        "quick", "Which network orders what is found; quality is better and eight times slower."
    )

    condense_with_model: bool = _setting(
        False, "Let the chat model rewrite follow-ups too. Rewrites that say what it may not say are refused."
    )
    condense_timeout: float = _setting(
        3.0, "Seconds it may take for that before the built-in rewrite is used.", least=0
    )

    plan_with_model: bool = _setting(
        True, "Let the model behind base_url plan messages that may take several steps. No effect without one."
    )
    plan_timeout: float = _setting(5.0, "Seconds it may take for that before the built-in plan is used.", least=0)

    history_messages: int = _setting(20, "Most messages of the conversation that are sent to a model in full.", least=0)
    context_tokens: int = _setting(
        0,
        "Tokens in the model's window. 0: what the model says, or 8192 if it does not say.",
        least=1024,
        or_zero=True,
    )
    spelling: bool = _setting(True, "Whether a mistyped word is read as the word in the documents that it is close to.")
    follow_up: bool = _setting(True, "Whether a message is read in the light of those before it.")
    follow_up_threshold: float = _setting(
        0.5, "Confidence from which a message counts as a follow-up.", least=0, most=1
    )
    memory_seconds: float = _setting(
        300.0, "Seconds of silence after which an old topic pulls less at a vague message.", least=0
    )
    topic_signal: bool = _setting(True, "Whether a message that leaves the topic is marked as such.")

    suggestions: int = _setting(
        3, "Most questions suggested after an answer, each checked to be answerable. 0: none.", least=0
    )
    preset: str = _setting("general", "Topics and guidance: general, tutor, academic, support, or a file of your own.")

    guard: str = _setting(
        "general",
        "Rails around a turn: general, customer_service, tutor, academic, strict, off, or a file of your own.",
    )

    style: str = _setting(
        "", "Citation style of the sources: apa, ieee, any other CSL style, or a .csl file. Empty: none."
    )

    max_message: int = _setting(16000, "Longest message accepted, in characters.", least=1)
    max_body: int = _setting(2_000_000, "Largest request body the server accepts, in bytes.", least=1)
    limit_conversation: str = _setting(
        "", "Most messages in one conversation: 30/minute, 1000/day, 20/minute burst 5. Empty: no limit."
    )
    limit_user: str = _setting("", "The same for one user, as named by the caller.")
    limit_key: str = _setting("", "The same for one key; if the server is open, as sent in Authorization: Bearer.")
    limit_address: str = _setting("", "The same for one address that requests come from.")
    limits_store: str = _setting(
        "memory", "Where messages are counted: memory, sqlite (for all processes on one machine) or redis://HOST:PORT."
    )
    limits_fail_closed: bool = _setting(
        False, "Refuse messages while they cannot be counted there. Otherwise each process counts by itself meanwhile."
    )
    proxies: int = _setting(
        0, "Your own proxies in front of the server; that many addresses of X-Forwarded-For are trusted.", least=0
    )
    host: str = _setting("127.0.0.1", "Address the server listens on.")
    port: int = _setting(8000, "Port the server listens on.", least=0, most=65535)
    access: Literal["auto", "keys", "open"] = _setting(
        "auto", "Who may call: whoever has a key, anyone (open), or auto: open on this machine until a key is made."
    )
    cors: str = _setting(
        "", "Web pages on other sites that may call: https://chat.example.org, separated by commas. Empty: none."
    )
    max_upload: int = _setting(100_000_000, "Largest document the server accepts, in bytes.", least=1)
    resume_seconds: float = _setting(
        60.0, "Seconds that an answer goes on without a reader, and can be read again.", least=0
    )
    turns_at_once: int = _setting(0, "Turns worked on at the same time; the others wait. 0: two per core.", least=0)
    vision: bool = _setting(False, "Whether the chat model can see. If so, images are sent to it; if not, declined.")
    logs: Literal["text", "json"] = _setting("text", "Format of the lines of the server's log.")
    trace_text: bool = _setting(
        False, "Whether traces sent by OpenTelemetry hold what was asked and answered. If not, only what was decided."
    )

    def __post_init__(self) -> None:
        for each in dataclasses.fields(self):
            if not _is_allowed(each, value := getattr(self, each.name)):
                raise ConfigError(f"'{each.name}' should be {allowed(each)}, not {value!r}.", "Change it.")

    @property
    def local(self) -> bool:
        """Whether the chat model runs on this machine. Some endpoints name models by files too: a path means ours."""
        ours = not self.base_url or self.model.startswith(("/", ".", "~"))
        return self.model == "local" or (self.model.endswith(".gguf") and ours)

    @property
    def endpoint(self) -> str:
        """The address of the chat model, or empty if there is none."""
        return "" if self.local else self.base_url

    @property
    def named(self) -> str:
        """The options that select this library again, as typed in a shell; none for the usual library."""
        if self.database:
            return f" --database {shlex.quote(without_password(self.database))}"
        return f" --library {shlex.quote(self.library)}" if self.library else ""


def without_password(address: str) -> str:
    """An address that is safe to show: any password in it is removed."""
    address = re.sub(r"//([^/?#:@]*):[^/?#]*@", r"//\1@", address)
    return re.sub(r"([?&]\w*password=)[^&#]*", r"\1…", address, flags=re.IGNORECASE)


FILE = "turnwise.toml"
PREFIX = "TURNWISE_"


@dataclass(frozen=True, slots=True)
class Origin:
    """A setting as it stands, and who set it: default, a file, an environment variable or an argument. `allowed` says
    which values it may have, or is empty if any of its type will do."""

    name: str
    value: Any
    origin: str
    about: str
    allowed: str = ""


def load(
    arguments: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> tuple[Settings, list[Origin]]:
    """The settings in force and where each came from. `file` defaults to turnwise.toml here, if there is one."""
    environment = os.environ if environment is None else environment
    known = {each.name: each for each in dataclasses.fields(Settings)}
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}

    def put(name: str, value: Any, origin: str) -> None:
        if name not in known:
            raise _unknown(name, origin, known)
        values[name] = _fit(known[name], value, origin)
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
        Origin(name, getattr(settings, name), origins.get(name, "default"), each.metadata["about"], allowed(each))
        for name, each in known.items()
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
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.", "Check its name.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", "Fix it or move it away.") from error


def _unknown(name: str, origin: str, known: Mapping[str, Any]) -> ConfigError:
    hint = did_you_mean(name, known, f"These can be set: {', '.join(sorted(known))}.")
    return ConfigError(f"Unknown setting '{name}' in {origin}.", hint)


def _fit(setting: Setting, value: Any, origin: str) -> Any:
    kind = str if _choices(setting) else _types()[setting.name]
    if isinstance(value, str) and kind is not str:
        value = _from_text(value, kind)
    if kind is float and type(value) is int:
        value = float(value)
    wanted = _spoken[kind] if type(value) is not kind else "" if _is_allowed(setting, value) else allowed(setting)
    if wanted:
        raise ConfigError(f"'{setting.name}' in {origin} should be {wanted}, not {value!r}.", "Change it there.")
    return value


_spoken = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def allowed(setting: Setting) -> str:
    """The choices or the range of a setting, in words; empty if it has neither."""
    if choices := _choices(setting):
        return f"{', '.join(choices[:-1])} or {choices[-1]}"
    least, most = setting.metadata["least"], setting.metadata["most"]
    if least is None:
        return ""
    limits = f"at least {least}" if most is None else f"from {least} to {most}"
    return f"0 or {limits}" if setting.metadata["or_zero"] else limits


def _is_allowed(setting: Setting, value: Any) -> bool:
    if choices := _choices(setting):
        return value in choices
    least, most = setting.metadata["least"], setting.metadata["most"]
    if least is None or (setting.metadata["or_zero"] and value == 0):
        return True
    return isinstance(value, int | float) and least <= value and (most is None or value <= most)


def _choices(setting: Setting) -> tuple[str, ...]:
    return get_args(_types()[setting.name])


@cache
def _types() -> dict[str, Any]:
    return get_type_hints(Settings)


def _from_text(text: str, kind: type) -> Any:
    if kind is bool:
        return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(text.lower(), text)
    try:
        return kind(text)
    except ValueError:
        return text
