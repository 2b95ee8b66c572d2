"""Secrets of fixed form: keys of well-known providers, private keys, tokens, passwords in addresses and assignments.

A table of our own: the providers publish the beginnings of their keys, and scanners made for source files work by line
and by entropy, which takes hashes and pictures for secrets.
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
from turnwise.guard.pii import readable
from turnwise.guard.verdict import Span
from turnwise.text import positions_of

Runs = Sequence[tuple[int, int]]

_W = r"[A-Za-z0-9_-]"
# kind: what the key looks like from its published beginning on
PREFIXES: dict[str, str] = {
    "AWS key": r"(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16}",
    "GitHub token": r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}",
    "GitLab token": rf"gl(?:pat|rt|dt|cbt|ptt|soat)-{_W}{{20,100}}",
    "Anthropic key": rf"sk-ant-{_W}{{16,250}}",
    "OpenAI key": rf"sk-(?:(?:proj|svcacct|admin|or|or-v1)-{_W}{{20,250}}|[A-Za-z0-9]{{20,100}})",
    "Google key": rf"AIza{_W}{{35}}|ya29\.{_W}{{20,300}}|GOCSPX-{_W}{{24,40}}",
    "Slack token": r"xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-\d-[A-Za-z0-9-]{10,250}",
    "Stripe key": r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,250}|whsec_[A-Za-z0-9+/=]{24,100}",
    "npm token": r"npm_[A-Za-z0-9]{36}",
    "PyPI token": rf"pypi-{_W}{{50,500}}",
    "Hugging Face token": r"hf_[A-Za-z0-9]{30,60}",
    "SendGrid key": rf"SG\.{_W}{{16,32}}\.{_W}{{30,64}}",
    "Twilio key": r"(?:AC|SK)[0-9a-f]{32}",
    "DigitalOcean token": r"do[opr]_v1_[0-9a-f]{64}",
    "Databricks token": r"dapi[0-9a-f]{32}",
    "Shopify token": r"shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}",
    "Groq key": r"gsk_[A-Za-z0-9]{40,100}",
    "xAI key": r"xai-[A-Za-z0-9]{40,120}",
    "Vault token": rf"hv[sbr]\.{_W}{{24,300}}",
    "age key": r"AGE-SECRET-KEY-1[A-Z0-9]{58}",
    "Telegram token": rf"\d{{8,10}}:AA{_W}{{33}}",
}
KINDS = (*PREFIXES, "private key", "access token", "password", "secret key")
_NAMED = re.compile(
    "(?<![A-Za-z0-9])(?:" + "|".join(f"({pattern})" for pattern in PREFIXES.values()) + ")(?![A-Za-z0-9])"
)
_HOOK = re.compile(r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/]{20,120}")
_JWT = re.compile(rf"(?<![A-Za-z0-9_-])(eyJ{_W}{{8,2000}})\.{_W}{{8,6000}}\.{_W}{{8,2000}}")
_GAP = r"(?:\s|\\[nr]|[\"'>|]){1,12}"
_PEM = re.compile(
    rf"-----BEGIN (?:[A-Z0-9]{{1,12}} ){{0,3}}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?:{_GAP}(?:Proc-Type|DEK-Info|Version|Comment|Hash): ?[^\n]{{0,100}}){{0,4}}"
    rf"(?:{_GAP}[A-Za-z0-9+/]{{16,4000}}={{0,2}}){{1,400}}"
    rf"(?:(?:{_GAP}=?[A-Za-z0-9+/]{{1,15}}={{0,2}})?{_GAP}-----END [A-Z0-9 ]{{0,50}}-----)?"
)
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/@:'\"<>]{0,100}:([^\s/@'\"<>]{3,100})@[\w\[]")
_KEY = (
    r"(?:pass(?:word|wd|phrase|code)|passwort|contraseña|mot de passe|pwd|secret|api[ _-]?key|"
    r"(?:access|account|auth|private|"
    r"secret|signing|encryption|session|master)[ _-]?key|token|credentials?|client[ _-]?secret)"
)
_SAID = re.compile(
    rf"({_KEY})s?[\w-]{{0,20}}[\"'`\])*]{{0,3}}(?:\s{{0,3}}(?::=|=>|==|[:=])\s{{0,3}}|\s(?:is|was|ist|es|est)(?:\s|:\s?){{1,2}})"
    r"(?:bearer\s|basic\s)?[\"'`*]{0,3}([^\s\"'`,;<>(){}\[\]|*]{6,500})(?![\w(\[])|\b(bearer)\s{1,2}([\w.~+/=-]{16,500})",
    re.I,
)
# What _SAID begins with.
_NAMES = (
    "pass", "contrase", "mot de", "pwd", "secret", "api", "access", "account", "auth", "private", "signing",
    "encryption", "session", "master", "token", "credential", "client", "bearer",
)  # fmt: skip
SHORTEST = 10  # characters of what has no gaps
_PLACEHOLDER = re.compile(
    r"^[@~/.]|your|example|change.?me|placeholder|dummy|redacted|secret$|password|passw0rd$|xxx|\*\*|\.\.\.|…|<|\$|%[sd(]|\{|"
    r"foo|bar(?![a-z0-9])|(.)\1{4}|1234567|abcdef|env|process\.|config|settings|get\(|none$|null$|true$|false$|https?:",
    re.I,
)
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.I)
_FILLED = re.compile(r"(.)\1{7}|your|x{6}|placeholder|\.\.\.", re.I)
LEAST_BITS = 2.5  # of entropy a character, below which a value is a word or a pattern


def find_secrets(text: str) -> list[Span]:
    """The secrets in a text, in order, none overlapping. Placeholders, hashes and identifiers are none."""
    plain, places = readable(text)
    runs = long_runs(plain, SHORTEST)
    spans = (*_blocks(plain), *_named(plain, runs), *_tokens(plain, runs), *_passwords(plain, runs))
    found = sorted(spans, key=lambda span: (span.start, -span.end))
    kept: list[Span] = []
    for span in found:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept if places is None else [Span(places[each.start], places[each.end - 1] + 1, each.kind) for each in kept]


def _blocks(text: str) -> list[Span]:
    return [Span(*each.span(), "private key") for each in _PEM.finditer(text)] if "-----BEGIN" in text else []


def _named(text: str, runs: Runs) -> list[Span]:
    kinds = list(PREFIXES)
    spans = [
        Span(*each.span(), kinds[(each.lastindex or 1) - 1])
        for each in _within(_NAMED, text, runs)
        if not _FILLED.search(each[0]) and len(set(each[0][4:])) > 5
    ]
    return spans + [Span(*each.span(), "Slack token") for each in _HOOK.finditer(text) if not _FILLED.search(each[0])]


def _tokens(text: str, runs: Runs) -> list[Span]:
    if "eyJ" not in text:
        return []
    return [Span(*each.span(), "access token") for each in _within(_JWT, text, runs) if _is_header(each[1])]


def _within(pattern: re.Pattern[str], text: str, runs: Runs) -> Iterator[re.Match[str]]:
    """Where a pattern that has no gaps is found: only what stands without gaps for long is looked at."""
    return (found for start, end in runs for found in pattern.finditer(text, start, end))


def _is_header(part: str) -> bool:
    try:
        return "alg" in json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, binascii.Error, TypeError):
        return False


def _passwords(text: str, runs: Runs) -> list[Span]:
    addresses = [run for run in runs if text.find("://", *run) >= 0] if "://" in text else []
    found = [
        Span(*each.span(1), "password") for each in _within(_ADDRESS, text, addresses) if not _is_placeholder(each[1])
    ]
    for each in _said(text):
        group = 2 if each[2] else 4
        value = each[group].rstrip(".:!?")
        if len(value) >= 6 and is_secret(value):
            kind = "password" if re.match("pass|pwd|contra|mot", each[group - 1], re.I) else "secret key"
            found.append(Span(each.start(group), each.start(group) + len(value), kind))
    return found


def _said(text: str) -> Iterator[re.Match[str]]:
    """What is called a password or a key. Only where such a name begins is looked at, which is a tenth of the work."""
    lower = text.lower().replace("ſ", "s").replace("ı", "i")  # as the pattern takes them
    if len(lower) != len(text):  # a letter whose small form is longer: places would be wrong
        yield from _SAID.finditer(text)
        return
    end = 0
    for place in sorted({place for name in _NAMES for place in positions_of(lower, name)}):
        if place >= end and (found := _SAID.match(text, place)):
            end = found.end()
            yield found


def _is_placeholder(value: str) -> bool:
    return _PLACEHOLDER.search(value) is not None or (value.isupper() and value.isalpha()) or value in ("pass", "pwd")


def is_secret(value: str) -> bool:
    """Whether a value that is called a password or a key reads like one: letters mixed with digits or signs, no word,
    no placeholder, no identifier."""
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
        return len(value) >= 7 and _hunter(value)
    return entropy(value) >= LEAST_BITS and (len(value) >= 8 or signs > 0 or capitals or digits > 1)


def _hunter(value: str) -> bool:
    """A word with a digit or two after it, as people make passwords."""
    return re.fullmatch(r"[A-Za-z]{4,16}\d{1,4}[!?#$@.]?", value) is not None


def entropy(value: str) -> float:
    """Bits a character, by how often each stands in the value."""
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)
