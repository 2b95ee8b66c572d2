"""Secrets of a fixed form: keys of well-known providers, private keys, tokens, passwords in URLs and assignments.

We keep our own table. Providers publish the prefixes of their keys, while scanners made for source files work by line
and by entropy, and so mistake hashes and images for secrets.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from turnwise.guard.folding import long_runs
from turnwise.guard.pii import normalize
from turnwise.guard.verdict import Span
from turnwise.guard.vocabulary import DOTTED_I, lower_ascii
from turnwise.text import positions_of

Runs = Sequence[tuple[int, int]]

_KEY_CHAR = r"[A-Za-z0-9_-]"
# Patterns of keys by kind, each with its published prefix.
PREFIXES: dict[str, str] = {
    "AWS key": r"(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16}",
    "GitHub token": r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}",
    "GitLab token": rf"gl(?:pat|rt|dt|cbt|ptt|soat)-{_KEY_CHAR}{{20,100}}",
    "Anthropic key": rf"sk-ant-{_KEY_CHAR}{{16,250}}",
    "OpenAI key": rf"sk-(?:(?:proj|svcacct|admin|or|or-v1)-{_KEY_CHAR}{{20,250}}|[A-Za-z0-9]{{20,100}})",
    "Google key": rf"AIza{_KEY_CHAR}{{35}}|ya29\.{_KEY_CHAR}{{20,300}}|GOCSPX-{_KEY_CHAR}{{24,40}}",
    "Slack token": r"xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-\d-[A-Za-z0-9-]{10,250}",
    "Stripe key": r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,250}|whsec_[A-Za-z0-9+/=]{24,100}",
    "npm token": r"npm_[A-Za-z0-9]{36}",
    "PyPI token": rf"pypi-{_KEY_CHAR}{{50,500}}",
    "Hugging Face token": r"hf_[A-Za-z0-9]{30,60}",
    "SendGrid key": rf"SG\.{_KEY_CHAR}{{16,32}}\.{_KEY_CHAR}{{30,64}}",
    "Twilio key": r"(?:AC|SK)[0-9a-f]{32}",
    "DigitalOcean token": r"do[opr]_v1_[0-9a-f]{64}",
    "Databricks token": r"dapi[0-9a-f]{32}",
    "Shopify token": r"shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}",
    "Groq key": r"gsk_[A-Za-z0-9]{40,100}",
    "xAI key": r"xai-[A-Za-z0-9]{40,120}",
    "Vault token": rf"hv[sbr]\.{_KEY_CHAR}{{24,300}}",
    "age key": r"AGE-SECRET-KEY-1[A-Z0-9]{58}",
    "Telegram token": rf"\d{{8,10}}:AA{_KEY_CHAR}{{33}}",
}
SECRET_KINDS = (*PREFIXES, "private key", "access token", "password", "secret key")
_PROVIDER_KEY = re.compile(
    "(?<![A-Za-z0-9])(?:" + "|".join(f"({pattern})" for pattern in PREFIXES.values()) + ")(?![A-Za-z0-9])"
)
_SLACK_WEBHOOK = re.compile(r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/]{20,120}")
_JWT = re.compile(rf"(?<![A-Za-z0-9_-])(eyJ{_KEY_CHAR}{{8,2000}})\.{_KEY_CHAR}{{8,6000}}\.{_KEY_CHAR}{{8,2000}}")
_GAP = r"(?:\s|\\[nr]|[\"'>|]){1,12}"
_PEM = re.compile(
    rf"-----BEGIN (?:[A-Z0-9]{{1,12}} ){{0,3}}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?:{_GAP}(?:Proc-Type|DEK-Info|Version|Comment|Hash): ?[^\n]{{0,100}}){{0,4}}"
    rf"(?:{_GAP}[A-Za-z0-9+/]{{16,4000}}={{0,2}}){{1,400}}"
    rf"(?:(?:{_GAP}=?[A-Za-z0-9+/]{{1,15}}={{0,2}})?{_GAP}-----END [A-Z0-9 ]{{0,50}}-----)?"
)
_URL_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/@:'\"<>]{0,100}:([^\s/@'\"<>]{3,100})@[\w\[]")
_SECRET_NAME = (
    r"(?:pass(?:word|wd|phrase|code)|passwort|contraseña|mot de passe|pwd|secret|api[ _-]?key|"
    r"(?:access|account|auth|private|"
    r"secret|signing|encryption|session|master)[ _-]?key|token|credentials?|client[ _-]?secret)"
)
_ASSIGNED = re.compile(
    rf"({_SECRET_NAME})s?[\w-]{{0,20}}[\"'`\])*]{{0,3}}(?:\s{{0,3}}(?::=|=>|==|[:=])\s{{0,3}}|\s(?:is|was|ist|es|est)(?:\s|:\s?){{1,2}})"
    r"(?:bearer\s|basic\s)?[\"'`*]{0,3}([^\s\"'`,;<>(){}\[\]|*]{6,500})(?![\w(\[])|\b(bearer)\s{1,2}([\w.~+/=-]{16,500})",
    re.I,
)
# Every match of _ASSIGNED starts with one of these.
_ASSIGNED_STARTS = (
    "pass", "contrase", "mot de", "pwd", "secret", "api", "access", "account", "auth", "private", "signing",
    "encryption", "session", "master", "token", "credential", "client", "bearer",
)  # fmt: skip
MIN_RUN_CHARS = 10  # without whitespace
MIN_KEY_CHARS = 15  # of the shortest key that _PROVIDER_KEY matches
_PLACEHOLDER = re.compile(
    r"^[@~/.]|your|example|change.?me|placeholder|dummy|redacted|secret$|password|passw0rd$|xxx|\*\*|\.\.\.|…|<|\$|%[sd(]|\{|"
    r"foo|bar(?![a-z0-9])|(.)\1{4}|1234567|abcdef|env|process\.|config|settings|get\(|none$|null$|true$|false$|https?:",
    re.I,
)
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.I)
_FILLER = re.compile(r"(.)\1{7}|your|x{6}|placeholder|\.\.\.", re.I)
MIN_ENTROPY_BITS = 2.5  # per character; below that, a value is a word or a pattern


def find_secrets(text: str) -> list[Span]:
    """The secrets in a text, in order and without overlaps. Placeholders, hashes and identifiers do not count."""
    plain, positions = normalize(text)
    runs = long_runs(plain, MIN_RUN_CHARS)
    spans = (
        *_private_keys(plain),
        *_provider_keys(plain, runs),
        *_access_tokens(plain, runs),
        *_passwords(plain, runs),
    )
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    if positions is None:
        return kept
    return [Span(positions[each.start], positions[each.end - 1] + 1, each.kind) for each in kept]


def _private_keys(text: str) -> list[Span]:
    return [Span(*each.span(), "private key") for each in _PEM.finditer(text)] if "-----BEGIN" in text else []


def _provider_keys(text: str, runs: Runs) -> list[Span]:
    kinds = list(PREFIXES)
    runs = [(start, end) for start, end in runs if end - start >= MIN_KEY_CHARS]
    spans = [
        Span(*each.span(), kinds[(each.lastindex or 1) - 1])
        for each in _matches_in(_PROVIDER_KEY, text, runs)
        if not _FILLER.search(each[0]) and len(set(each[0][4:])) > 5
    ]
    return spans + [
        Span(*each.span(), "Slack token") for each in _SLACK_WEBHOOK.finditer(text) if not _FILLER.search(each[0])
    ]


def _access_tokens(text: str, runs: Runs) -> list[Span]:
    if "eyJ" not in text:
        return []
    return [Span(*each.span(), "access token") for each in _matches_in(_JWT, text, runs) if _is_jwt_header(each[1])]


def _matches_in(pattern: re.Pattern[str], text: str, runs: Runs) -> Iterator[re.Match[str]]:
    """The matches of a pattern without whitespace. For speed, only long runs without whitespace are searched."""
    return (found for start, end in runs for found in pattern.finditer(text, start, end))


def _is_jwt_header(part: str) -> bool:
    try:
        return "alg" in json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, binascii.Error, TypeError):
        return False


def _passwords(text: str, runs: Runs) -> list[Span]:
    urls = [run for run in runs if text.find("://", *run) >= 0] if "://" in text else []
    spans = [
        Span(*each.span(1), "password")
        for each in _matches_in(_URL_PASSWORD, text, urls)
        if not _is_placeholder(each[1])
    ]
    for each in _assignments(text):
        group = 2 if each[2] else 4
        value = each[group].rstrip(".:!?")
        if len(value) >= 6 and is_secret(value):
            kind = "password" if re.match("pass|pwd|contra|mot", each[group - 1], re.I) else "secret key"
            spans.append(Span(each.start(group), each.start(group) + len(value), kind))
    return spans


def _assignments(text: str) -> Iterator[re.Match[str]]:
    """Values that the text calls a password or a key. Only matching where such a name starts is ten times as fast."""
    if DOTTED_I in text:
        yield from _ASSIGNED.finditer(text)
        return
    lower = lower_ascii(text.replace("ſ", "s").replace("ı", "i"))  # the pattern ignores case and matches these too
    end = 0
    for place in sorted({place for name in _ASSIGNED_STARTS for place in positions_of(lower, name)}):
        if place >= end and (found := _ASSIGNED.match(text, place)):
            end = found.end()
            yield found


def _is_placeholder(value: str) -> bool:
    return _PLACEHOLDER.search(value) is not None or (value.isupper() and value.isalpha()) or value in ("pass", "pwd")


def is_secret(value: str) -> bool:
    """Whether a value that is called a password or a key looks like one: letters mixed with digits or symbols, but not
    a word, a placeholder or an identifier."""
    if _is_placeholder(value) or _UUID.fullmatch(value) or value.count(":") > 2:
        return False
    digits, letters = sum(map(str.isdigit, value)), sum(map(str.isalpha, value))
    signs = len(value) - digits - letters - sum(map(value.count, "_-./"))
    capitals = re.search(r"[a-z][A-Z]|[A-Z]{2}[a-z]", value) is not None
    mixed = letters >= 2 and (digits >= 1 or signs >= 1)
    if len(value) >= 20:
        mixed = letters >= 3 and (digits >= 3 or (digits > 0 and capitals and entropy(value) > 3.8))
    if not mixed or re.fullmatch(
        r"[A-Za-z]+[-_.]?v?\d{1,2}(?:\.\d+)*|[\w.-]+\.[a-z]{2,4}|v?\d[\d.,:/-]*[A-Za-z]{0,3}", value
    ):
        return len(value) >= 7 and _is_word_with_digits(value)
    return entropy(value) >= MIN_ENTROPY_BITS and (len(value) >= 8 or signs > 0 or capitals or digits > 1)


def _is_word_with_digits(value: str) -> bool:
    """Whether this is a word followed by some digits, a common kind of password: "hunter2"."""
    return re.fullmatch(r"[A-Za-z]{4,16}\d{1,4}[!?#$@.]?", value) is not None


def entropy(value: str) -> float:
    """Bits per character, by how often each character occurs in the value."""
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)
