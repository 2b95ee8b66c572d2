"""Make what train.py learns from: messages, alone and in conversations, with sentences that may answer, as tokens.

    python training/foreign/prepare.py OUT.npz.xz

Every row is a message, what was said before it, and 18 sentences; beside it stands the question that it asks, and the
same sentences, in English. The messages are the questions about our own documents (training/reranker/documents) and the
follow-ups to them (training/leaning), in English, and both in six other languages (translated.jsonl). Run from the
repository's root with it on the path.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from training import packed
from turnwise.documents.chunk import chunk
from turnwise.documents.parse import parse
from turnwise.extractive.foreign import in_context
from turnwise.extractive.statements import statements
from turnwise.models.reranker import FOREIGN, STUDENT, Room, title_line
from turnwise.models.weights import OWN, pinned_weights

HERE = Path(__file__).parent
TRANSLATED = HERE / "translated.jsonl"
DOCUMENTS = HERE.parent / "reranker" / "documents"
FOLLOW_UPS = HERE.parent / "leaning" / "follow_ups.jsonl"
TOKENIZER = OWN / "guard_foreign_tokenizer.json"
SEED = 7
CANDIDATES = 18
ANSWERS, SAID, NEAR = 4, 4, 7  # of the sentences: that answer, that were told before, that share words; then by chance
WITHOUT_ANSWER, WITH_ANOTHER = 0.3, 0.15  # of the rows in conversations
STANDING = 12  # questions of a document that stand by themselves within a conversation
STEM = 5  # letters of a word by which sentences and questions are compared here
_WORD = re.compile(r"[^\W_]{3,}")


@dataclass(frozen=True)
class Sentence:
    heading: str  # its line of headings and title
    text: str
    read: str  # with the sentence before it
    english: tuple[str, str]  # heading and read, in English


@dataclass(frozen=True)
class Row:
    document: str
    language: str
    message: str  # with what was said before it, as the judge reads it
    asked: str  # the same in English, as a question that stands alone
    sentences: tuple[Sentence, ...]
    grades: tuple[int, ...]  # 3 answers, 2 a part, 0 does not
    leans: bool


@dataclass(frozen=True)
class Turn:
    """A message of a conversation: what was typed and asked before it, newest first."""

    typed: str
    asked: str
    before: tuple[tuple[str, str], ...]


@dataclass
class Document:
    name: str
    language: str
    stated: list[Sentence]
    questions: dict[str, tuple[list[str], list[str]]]  # what answers each, and what answers a part
    english: dict[str, str] = field(default_factory=dict)  # questions in English
    turns: list[Turn] = field(default_factory=list)

    def add_talk(self, opens: str, then: Sequence[tuple[str, str]]) -> None:
        before = [(opens, opens)]
        for typed, asked in then:
            if asked in self.questions and before[0][1] in self.questions:
                self.turns.append(Turn(typed, asked, tuple(before)))
            before.insert(0, (typed, asked))


def english() -> list[Document]:
    found = {}
    for file in sorted(DOCUMENTS.glob("*.md")):
        parsed = parse(file)
        stated = []
        for passage in chunk(parsed):
            line = title_line(parsed.title, passage.heading)
            for each in statements(passage.text):
                read = each.reading(True)
                stated.append(Sentence(line, each.text, read, (line, read)))
        texts = {each.text for each in stated}
        questions = {}
        for row in map(json.loads, file.with_suffix(".jsonl").read_text().splitlines()):
            if {*row["answers"], *row["partly"]} <= texts:
                questions[row["question"]] = row["answers"], row["partly"]
        found[file.stem] = Document(file.stem, "en", stated, questions)
    for talk in map(json.loads, FOLLOW_UPS.read_text().splitlines()):
        found[talk["document"]].add_talk(talk["opens"], talk["then"])
    return list(found.values())


def others(known: Sequence[Document]) -> Iterator[Document]:
    """The documents in other languages; `known` are the English ones."""
    sources = {each.name: each for each in known}
    for row in map(json.loads, TRANSLATED.read_text().splitlines()):
        texts = [text for text, _, _ in row["stated"]]
        stated = []
        for at, (text, heading, after) in enumerate(row["stated"]):
            source = sources[row["document"]].stated[row["from"] + at]
            line = title_line(row["title"], row["headings"][heading])
            read = f"{texts[at - 1]} | {text}" if after else text
            stated.append(Sentence(line, text, read, source.english))
        asked = [question for question, *_ in row["questions"]]
        questions = {
            question: ([texts[at] for at in whole], [texts[at] for at in partly])
            for question, _, whole, partly in row["questions"]
        }
        english = {question: source for question, source, *_ in row["questions"]}
        document = Document(row["document"], row["language"], stated, questions, english)
        for opens, then in row["talks"]:
            document.add_talk(asked[opens], [(typed, asked[at]) for typed, at in then])
        yield document


def stems(text: str) -> set[str]:
    return {word[:STEM] for word in _WORD.findall(text.lower())}


def rows_of(document: Document, alike: Sequence[Document], rnd: random.Random) -> Iterator[Row]:
    """`alike` are the other documents in its language."""
    near = [(each, stems(f"{each.heading} {each.read}")) for each in document.stated]

    def row(message: str, asked: str, told: Sequence[str], leans: bool) -> Row:
        whole, partly = document.questions[asked]
        known = dict.fromkeys(partly, 2) | dict.fromkeys(whole, 3)
        wanted = stems(" ".join((asked, message, *told)))
        groups: tuple[list[Sentence], ...] = ([], [], [])
        ranked = sorted(near, key=lambda each: -len(wanted & each[1]) - rnd.random())
        for each, _ in ranked:
            groups[0 if each.text in known else 1 if each.text in told else 2].append(each)
        close, far = groups[2][:NEAR], groups[2][NEAR:]
        for some in (groups[0], groups[1], far):
            rnd.shuffle(some)
        elsewhere = [rnd.choice(rnd.choice(alike).stated) for _ in range(CANDIDATES)]
        chosen = [*groups[0][:ANSWERS], *groups[1][:SAID], *close, *far][: CANDIDATES - 2]
        chosen = [*chosen, *elsewhere][:CANDIDATES]
        grades = tuple(known.get(each.text, 0) for each in chosen)
        source = document.english.get(asked, asked)
        return Row(document.name, document.language, message, source, tuple(chosen), grades, leans)

    def answer(asked: str) -> str:
        whole, partly = document.questions.get(asked, ([], []))
        return " ".join((whole or partly)[:2])

    def told_before(turn: Turn) -> list[str]:
        return [text for _, asked in turn.before for text in document.questions.get(asked, ([], []))[0]]

    def in_talk(turn: Turn) -> Row:
        typed, chance = [each for each, _ in turn.before], rnd.random()
        last = answer(turn.before[0][1])
        if chance < WITHOUT_ANSWER:
            last = ""
        elif chance < WITHOUT_ANSWER + WITH_ANOTHER:
            last = rnd.choice(document.stated).text
        kept = typed[: rnd.choice((1, 2, 3, 5))]
        return row(in_context(turn.typed, kept, last), turn.asked, told_before(turn), True)

    for asked in document.questions:
        yield row(in_context(asked, [], ""), asked, [], False)
    alike_asked: dict[tuple[str, ...], list[str]] = {}
    for asked, (whole, _) in document.questions.items():
        if whole:
            alike_asked.setdefault(tuple(sorted(whole)), []).append(asked)
    again = [some for some in alike_asked.values() if len(some) > 1]
    yield from map(in_talk, document.turns)
    for asked in rnd.sample(sorted(document.questions), min(STANDING, len(document.questions))):
        source = document if rnd.random() < 0.6 else rnd.choice(alike)
        if not source.turns:
            continue
        turn = rnd.choice(source.turns)
        typed = [turn.typed, *(each for each, _ in turn.before)]
        whole = source.questions.get(turn.asked, ([], []))[0] if rnd.random() > WITHOUT_ANSWER else []
        told = whole if source is document else []
        yield row(in_context(asked, typed, " ".join(whole[:2])), asked, told, False)
    for some in again:  # what was told before answers again
        before, asked = rnd.sample(some, 2)
        told = document.questions[asked][0]
        yield row(in_context(asked, [before], " ".join(told[:2])), asked, told, False)


def crossed(row: Row) -> Row:
    """The same with the sentences in English."""
    texts = tuple(Sentence(each.english[0], each.text, each.english[1], each.english) for each in row.sentences)
    return replace(row, sentences=texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    rnd = random.Random(SEED)
    known = english()
    known += others(known)
    rows: list[Row] = []
    for each in known:
        alike = [other for other in known if other.language == each.language and other.name != each.name]
        own = list(rows_of(each, alike, rnd))
        rows += own
        if each.language != "en":
            rows += map(crossed, own)
    foreign = [row for row in rows if row.language != "en"]
    print(f"{len(rows)} rows, {sum(row.leans for row in rows)} of them lean", flush=True)
    print(f"{len(foreign)} are not English, {sum(row.leans for row in foreign)} of them lean", flush=True)
    read = [[(each.heading, each.read) for each in row.sentences] for row in rows]
    meant = [[each.english for each in row.sentences] for row in rows]
    wordpieces = Tokenizer.from_file(str(pinned_weights().tokenizer))
    names = {name: at for at, name in enumerate(sorted({row.document for row in rows}))}
    languages = sorted({row.language for row in rows})
    arrays: packed.Weights = {
        "grades": np.array([row.grades for row in rows], np.int8),
        "leans": np.array([row.leans for row in rows]),
        "document": np.array([names[row.document] for row in rows], np.uint16),  # the same in every language
        "language": np.array([languages.index(row.language) for row in rows], np.uint8),
        "languages": np.array(languages),
    }
    messages, asked = ([getattr(row, name) for row in rows] for name in ("message", "asked"))
    arrays |= told("", Tokenizer.from_file(str(TOKENIZER)), messages, read, FOREIGN)
    arrays |= told("english_", wordpieces, asked, meant, STUDENT)
    packed.write(given.out, arrays)


def told(
    name: str, tokenizer: Tokenizer, asked: Sequence[str], sentences: Sequence[Sequence[tuple[str, str]]], room: Room
) -> packed.Weights:
    """What is asked, and the sentences that may answer, as tokens."""
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def tokens(texts: Sequence[str], most: int) -> list[list[int]]:
        clean = [each.encode("utf-8", "replace").decode("utf-8") for each in texts]
        return [each.ids[:most] for each in tokenizer.encode_batch(clean, add_special_tokens=False)]

    numbers = {each: at for at, each in enumerate(dict.fromkeys(pair for row in sentences for pair in row))}
    headings, stated = zip(*numbers, strict=True)
    titles, texts = tokens(headings, room.title), tokens(stated, room.tokens)
    parts = {
        "asked": tokens(asked, room.question),
        "text": [title + text for title, text in zip(titles, texts, strict=True)],
    }
    arrays: packed.Weights = {
        f"{name}candidates": np.array([[numbers[pair] for pair in row] for row in sentences], np.uint32)
    }
    for part, ids in parts.items():
        arrays[f"{name}{part}_ids"] = np.array([token for each in ids for token in each], np.uint16)
        arrays[f"{name}{part}_sizes"] = np.array([len(each) for each in ids], np.uint8)
    return arrays


if __name__ == "__main__":
    main()
