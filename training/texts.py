"""Texts that models are distilled on: passages, questions that people asked about other texts, and questions made out
of the passages by rules. Rows that are kept for evaluation are never read."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from turnwise.documents.chunk import chunk
from turnwise.evaluation.library import plain_text_document
from turnwise.text import content_words, is_content, phrases, sentences

MTRAG = ("clapnq", "cloud", "fiqa", "govt")
REWRITES = ("canard.jsonl.gz", "qrecc.jsonl.gz", "cast19.jsonl", "ikat23.jsonl")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """A passage: of which collection, and what it is called there."""

    collection: str
    key: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the number of the passage that answers it (`real`: as people wrote it) or that it was made of."""

    text: str
    passage: int | None
    real: bool


def rows(path: Path) -> list[Row]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        return [json.loads(line) for line in lines]


def passages(folder: Path) -> list[Text]:
    """The passages of the MTRAG collections as they are, and the documents of Doc2Dial cut as the product does."""
    found = []
    for name in MTRAG:
        for row in rows(folder / f"mtrag/corpus/{name}.jsonl.gz"):
            title = row["title"].strip()
            found.append(Text(name, row["_id"], title, row["text"].strip().removeprefix(title).strip() or row["text"]))
    for row in rows(folder / "doc2dial/documents.jsonl.gz"):
        title = row["_id"].split("#")[0]
        found += [
            Text("doc2dial", f"{row['_id']}@{each.start}", title, each.text)
            for each in chunk(plain_text_document(title, row["text"]))
        ]
    return found


def rewritten(folder: Path) -> Iterator[tuple[str, str]]:
    """Questions that stand alone, as people rewrote them, with their answers ("" where it is not known)."""
    for name in REWRITES:
        talks: dict[str, dict[str, str]] = {}  # by conversation the answer to every question
        read = rows(folder / "rewrite" / name)
        for row in read:
            history, answers = row["history"], talks.setdefault(row["conversation_id"], {})
            for said, answer in pairwise(history):
                if said["role"] == "user" and answer["role"] == "assistant":
                    answers[said["content"]] = answer["content"]
        for row in read:
            yield row["rewrite"], talks[row["conversation_id"]].get(row["question"], "")
    for talk in rows(folder / "rewrite/canard_train.jsonl.gz"):
        for turn in talk["turns"]:
            yield turn["rewrite"], ""


# --- questions made by rules -------------------------------------------------------------------------------------

_YOU = re.compile(
    r"\byou (should|can|could|need to|have to|must|may|might want to) ([a-z][^,.;:()\[\]\"]{8,70})(?!\w)", re.I
)
_IS = re.compile(
    r"^((?:The|A|An|[A-Z])[^,.;:()\[\]]{2,50}?) (is|are|was|were) ((?:an?|the|one|[a-z])[^,.;:()\[\]]{6,80})(?!\w)"
)
_DOES = re.compile(
    r"^((?:The|A|An|Your|[A-Z])[^,.;:()\[\]]{2,40}?) (can|will|must|should|may) ([a-z][^,.;:()\[\]]{6,60})(?!\w)"
)
_YEAR = re.compile(r"^([^,.;:()\[\]]{8,70}?) (?:in|on|since|until) [^,.;:()]{0,14}\b(?:1[5-9]|20)\d\d\b")
_MARKS = re.compile(r"[*#`|>_]+|\[|\]|\((?:https?|#)[^)]*\)|https?://\S+")
_ABOUT = [
    "what is {}?",
    "what are {}?",
    "tell me about {}",
    "explain {}",
    "how does {} work?",
    "{}",
    "what does {} mean?",
]
_ABOUT += ["why is {} important?", "how much does {} cost?", "who is {}?", "how do I use {}?", "is {} worth it?"]
_OF = ["what is the {1} of {0}?", "{0} {1}", "{1} {0}", "how is {1} related to {0}?", "what about {1} in {0}?"]
_OF += ["{0}: {1}", "does {0} have {1}?", "where does {1} come from in {0}?", "what role did {1} play in {0}?"]
_DOING = ["how do I go about {}?", "what do I need to know about {}?", "{}", "steps for {}", "help with {}"]
_WILL = ["{1} {0} {2}?", "when {1} {0} {2}?", "how {1} {0} {2}?", "why {1} {0} {2}?"]
_SHOULD = ["{0} I {1}?", "is it a good idea to {1}?", "why {0} I {1}?", "how {0} I {1}?", "do I have to {1}?"]


def made(text: Text, rnd: random.Random) -> list[str]:
    """Questions that the passage may answer, by every rule that fits it."""
    title = _MARKS.sub(" ", text.title.split("|")[0].split(" - ")[0]).strip()
    found: list[str] = []
    parts = [" ".join(_MARKS.sub(" ", each).split()) for each in sentences(text.text)]
    for part in rnd.sample(parts, min(len(parts), 6)):
        if 1 < len(part.split()) < 10 and part[:1].isupper() and part[-1].isalpha():  # a heading
            found.append(rnd.choice(_DOING if part.split()[0].endswith("ing") else _ABOUT).format(_lowered(part)))
        if match := _YOU.search(part):
            verb = {"need to": "do", "have to": "do", "might want to": "should"}.get(match[1].lower(), match[1].lower())
            found.append(rnd.choice(_SHOULD).format(verb, _turned(match[2])))
        if match := _IS.match(part):
            subject, verb, rest = match.groups()
            found.append(f"what {verb} {rnd.choice([_lowered(subject), rest])}?")
        if match := _DOES.match(part):
            found.append(rnd.choice(_WILL).format(_turned(_lowered(match[1])), match[2], _turned(match[3])))
        if match := _YEAR.match(part):
            found.append(f"when {rnd.choice(['did', 'was', 'is'])} {_lowered(match[1])}?")
        named = [phrase for phrase in phrases(part) if len(phrase.split()) <= 5 and (" " in phrase or len(phrase) > 7)]
        if named:
            phrase = rnd.choice(named)
            found.append(rnd.choice(_OF).format(title, phrase) if title else rnd.choice(_ABOUT).format(phrase))
            if len(named) > 1 and not title:
                found.append(rnd.choice(_OF).format(*rnd.sample(named, 2)))
        kept = [word for word in content_words(part) if is_content(word)]
        if len(kept) > 3:
            start = rnd.randrange(max(1, len(kept) - 6))
            near = kept[start : start + 8]
            chosen = sorted(rnd.sample(range(len(near)), min(len(near), rnd.randint(3, 5))))
            found.append(" ".join(near[at] for at in chosen))
    return [asked for asked in (_roughened(each, rnd) for each in found) if 2 <= len(asked.split()) <= 22]


def _lowered(text: str) -> str:
    """With a small letter, where it does not open a name."""
    first, _, rest = text.partition(" ")
    return text if rest[:1].isupper() or first.isupper() else text[:1].lower() + text[1:]


def _turned(text: str) -> str:
    """What is said to you, as I ask it."""
    text = re.sub(r"\byour\b", "my", text, flags=re.I)
    text = re.sub(r"\byou are\b", "I am", text, flags=re.I)
    return re.sub(r"\byou\b", "I", text, flags=re.I).strip()


def _roughened(asked: str, rnd: random.Random) -> str:
    """As people type: often small letters, sometimes without the question mark."""
    asked = " ".join(asked.split())
    if rnd.random() < 0.35:
        asked = asked.lower()
    if rnd.random() < 0.3:
        asked = asked.rstrip("?")
    return asked if rnd.random() < 0.5 else asked[:1].upper() + asked[1:]
