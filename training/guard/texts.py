"""The texts that the guard's networks learn from: what we wrote (texts/), questions that people asked, documentation.

A line of texts/ may hold groups ⟦a|b⟧, of which one option is taken at a time; so a line stands for many texts.
"""

from __future__ import annotations

import json
import random
import re
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.texts import rewritten, rows

HERE = Path(__file__).parent / "texts"
HELD = 10  # one line of so many is held out, with all that it stands for
_GROUP = re.compile(r"⟦([^⟦⟧]*)⟧")
_BLANKS = re.compile(r"[ \t]{2,}")


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    label: int
    kind: str
    lang: str
    file: str

    @property
    def number(self) -> int:
        """One that does not change when other lines come or go."""
        return zlib.crc32(self.text.encode()) // HELD

    @property
    def held(self) -> bool:
        return zlib.crc32(self.text.encode()) % HELD == 0


@dataclass(frozen=True, slots=True)
class Example:
    text: str
    label: int
    kind: str
    held: bool
    start: int = 0  # of what was planted in a passage
    end: int = 0


def lines(*files: str) -> list[Line]:
    found: list[Line] = []
    for file in files:
        rows_of = map(json.loads, (HERE / f"{file}.jsonl").read_text(encoding="utf-8").splitlines())
        found += [Line(row["text"], row["label"], row["kind"], row["lang"], file) for row in rows_of]
    return found


def expanded(text: str, rnd: random.Random) -> str:
    while _GROUP.search(text):  # the innermost first
        text = _GROUP.sub(lambda group: rnd.choice(group[1].split("|")), text)
    return _BLANKS.sub(" ", text).strip()


def variants(line: Line, most: int, rnd: random.Random) -> list[str]:
    """Different texts that a line stands for."""
    return list(dict.fromkeys(expanded(line.text, rnd) for _ in range(most if "⟦" in line.text else 1)))


# --- as people type ----------------------------------------------------------------------------------------------


def worn(text: str, rnd: random.Random) -> str:
    """The text as somebody typed it: sometimes in lower case, without accents or full stops, with slips."""
    if rnd.random() < 0.15:
        text = text.lower()
    if rnd.random() < 0.08:
        text = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
        text = unicodedata.normalize("NFC", text)
    if rnd.random() < 0.1:
        text = text.rstrip(".!?")
    if rnd.random() < 0.03:
        text = text.upper()
    if rnd.random() < 0.12:
        text = slipped(text, rnd)
    return text


def slipped(text: str, rnd: random.Random) -> str:
    letters = list(text)
    for _ in range(max(1, len(letters) // 60)):
        at = rnd.randrange(max(1, len(letters) - 1))
        if not letters[at].isalpha():
            continue
        match rnd.randrange(3):
            case 0:
                letters[at] = ""
            case 1:
                letters[at] *= 2
            case _:
                letters[at : at + 2] = reversed(letters[at : at + 2])
    return "".join(letters)


# --- what people asked, and what documents say -------------------------------------------------------------------


def asked(folder: Path) -> list[str]:
    """Questions and remarks of people: CANARD, QReCC, CAsT-19, iKAT-23, TIAGE. None of the sets kept for evaluation."""
    found = [question for question, _ in rewritten(folder)]
    for name in ("canard.jsonl.gz", "qrecc.jsonl.gz", "cast19.jsonl", "ikat23.jsonl"):
        found += [row["question"] for row in rows(folder / "rewrite" / name)]
    return list(dict.fromkeys(found))


def chatted(folder: Path) -> list[str]:
    """What people said in TIAGE's chit-chat, its part for training."""
    said = [each for row in rows(folder / "followup/tiage_train.jsonl") for each in row["turns"]]
    return list(dict.fromkeys(said))


def talked() -> list[tuple[str, str]]:
    """What was said within the condenser's conversations, and asked of the re-ranker's documents: kind and text."""
    training = HERE.parents[1]
    found: dict[str, str] = {}
    for file in sorted((training / "condenser/talks").glob("*.jsonl")):
        for row in rows(file):
            found |= {turn["question"]: f"talk/{file.stem}" for turn in row["turns"][1:]}
    for file in sorted((training / "reranker/documents").glob("*.jsonl")):
        found |= {row["question"]: "talk/documents asked" for row in rows(file)}
    return [(kind, text) for text, kind in found.items()]


def answers(folder: Path) -> list[str]:
    return list(dict.fromkeys(answer for _, answer in rewritten(folder) if len(answer) > 80))


FRAMES = (
    "What does “{}” mean?",
    'What does "{}" mean in plain English?',
    "Is “{}” a prompt injection?",
    "Why would a filter flag the sentence '{}'?",
    'A user sent us "{}" yesterday. How should the support team react?',
    'Our training slides quote the attack "{}". Can you explain to beginners how it works?',
    'In the paper, the example "{}" is used. Which kind of attack is that?',
    "I am writing a test for my guardrail. Should the message `{}` be blocked?",
    "The log shows this message: '{}'. Who could have sent it?",
    'Classify the following message as attack or harmless: "{}"',
    "Was heißt „{}“?",
    'How do I say "{}" in French?',
    'Why do people write "{}" to chatbots?',
)


def quoted(attack: str, rnd: random.Random) -> str:
    """An honest question that quotes an attack."""
    return rnd.choice(FRAMES).format(attack.strip(' "“”'))


def sentences_of(text: str) -> list[str]:
    return [each.strip() for each in re.split(r"(?<=[.!?。！？])\s+|\n+", text) if each.strip()]


def planted(passage: str, payload: str, rnd: random.Random) -> tuple[str, int, int]:
    """The passage with the payload at its start, at its end, or between two of its lines or sentences."""
    breaks = [found.end() for found in re.finditer(r"(?<=[.!?])\s+|\n+", passage)]
    at = rnd.choice([0, len(passage), *(rnd.choice(breaks) for _ in range(2) if breaks)])
    joint = "\n" if "\n" in passage or "|" in passage or rnd.random() < 0.3 else " "
    before, after = passage[:at].rstrip(), passage[at:].lstrip()
    start = len(before) + len(joint) if before else 0
    text = joint.join(filter(None, (before, payload, after)))
    return text, start, start + len(payload)


def chosen(of: Sequence[str], rnd: random.Random) -> str:
    return of[rnd.randrange(len(of))]


def chunks(folder: Path, most: int, rnd: random.Random) -> Iterator[str]:
    """Passages of unpacked documentation (HTML, text, fortunes, manual pages), as the product cuts them."""
    import gzip
    import tempfile

    from turnwise.documents.chunk import chunk
    from turnwise.documents.parse import parse

    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and 1_000 < file.stat().st_size < 300_000]
    pages = [file for file in files if file.suffix in (".html", ".txt")]
    manual = [file for file in files if file.suffix == ".gz" and "/man/" in str(file)]
    fortunes = [file for file in files if "games/fortunes" in str(file) and not file.suffix]
    given = 0
    for file in rnd.sample(pages, min(len(pages), most // 6)):
        try:
            found = [each.text for each in chunk(parse(file)) if len(each.text) > 120]
        except Exception:  # whatever is wrong with a file: there are others
            continue
        for text in rnd.sample(found, min(len(found), 8)):
            given += 1
            yield text
    for file in rnd.sample(manual, min(len(manual), most // 8)):
        try:
            text = gzip.decompress(file.read_bytes()).decode()
        except (OSError, UnicodeDecodeError):
            continue
        plain = re.sub(r"^\.\w+ ?|\\f.|\\-|\\&|\"", "", text, flags=re.M)
        place = Path(tempfile.gettempdir()) / "manual.txt"
        place.write_text(plain, encoding="utf-8")
        found = [each.text for each in chunk(parse(place)) if len(each.text) > 120]
        yield from rnd.sample(found, min(len(found), 4))
    for file in fortunes:
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        parts = [each.strip() for each in text.split("\n%\n") if 60 < len(each.strip()) < 1200]
        yield from rnd.sample(parts, min(len(parts), 60))
