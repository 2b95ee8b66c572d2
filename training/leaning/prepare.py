"""Make what train.py learns from: messages in the middle of conversations, with sentences that may answer, as tokens.

    python training/leaning/prepare.py OUT.npz.xz

Every row is a message, what was said before it, the question that it asks and 18 sentences. Most are our own
follow-ups (follow_ups.jsonl) to questions about our own documents (training/reranker/documents), twice with other parts
of what was said; besides, questions that stand by themselves in the middle of such conversations or without any, and
the turns of the condenser's talks, whose sentences are those of their answers. Run from the repository's root with it
on the path.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from training import packed
from training.reranker.prepare import CANDIDATES, DOCUMENTS, of_document
from turnwise.extractive.leaning import in_context
from turnwise.models.reranker import IN_CONTEXT
from turnwise.models.weights import pinned_weights
from turnwise.text import content_stems, sentences

HERE = Path(__file__).parent
FOLLOW_UPS = HERE / "follow_ups.jsonl"
TALKS = HERE.parent / "condenser" / "talks"
SEED = 7
STANDING, ALONE = 12, 4  # questions of a document that stand by themselves: within a conversation, and without one
WITHOUT_ANSWER, WITH_ANOTHER = 0.4, 0.15  # of the second copies of our own rows
ANSWERS, SAID, NEAR = 4, 5, 6  # of the sentences: that answer, that were told before, that share words; then by chance
UNKNOWN = -1  # grade of a sentence that nobody has read


@dataclass(frozen=True)
class Row:
    document: str
    message: str  # with what was said before it, as the judge reads it
    asked: str  # the same as a question that stands alone
    sentences: tuple[tuple[str, str], ...]  # its line of headings and title, and its text
    grades: tuple[int, ...]  # 3 answers, 2 a part, 0 does not
    leans: bool


@dataclass
class Document:
    name: str
    stated: list[tuple[str, str, str]]  # line of headings, text, and how it is read
    questions: dict[str, tuple[list[str], list[str]]]  # what answers each, and what answers a part
    turns: list[Turn] = field(default_factory=list)


@dataclass(frozen=True)
class Turn:
    """A message of a conversation: what was typed and asked before it, newest first."""

    typed: str
    asked: str
    before: tuple[tuple[str, str], ...]


def documents() -> list[Document]:
    found = {}
    for file in sorted(DOCUMENTS.glob("*.md")):
        stated = [(line, each.text, each.reading(True)) for line, each in of_document(file)]
        texts = {text for _, text, _ in stated}
        questions = {}
        for row in map(json.loads, file.with_suffix(".jsonl").read_text().splitlines()):
            if {*row["answers"], *row["partly"]} <= texts:
                questions[row["question"]] = row["answers"], row["partly"]
        found[file.stem] = Document(file.stem, stated, questions)
    for talk in map(json.loads, FOLLOW_UPS.read_text().splitlines()):
        document = found[talk["document"]]
        before = [(talk["opens"], talk["opens"])]
        for typed, asked in talk["then"]:
            if asked in document.questions and before[0][1] in document.questions:
                document.turns.append(Turn(typed, asked, tuple(before)))
            before.insert(0, (typed, asked))
    return list(found.values())


def rows_of(document: Document, others: Sequence[Document], rnd: random.Random) -> Iterator[Row]:
    def answer(asked: str) -> str:
        whole, partly = document.questions.get(asked, ([], []))
        return " ".join((whole or partly)[:2])

    def row(message: str, asked: str, told: Sequence[str], leans: bool) -> Row:
        whole, partly = document.questions[asked]
        known = dict.fromkeys(partly, 2) | dict.fromkeys(whole, 3)
        stems = content_stems(" ".join((asked, *told)))
        groups: tuple[list[tuple[str, str, str]], ...] = ([], [], [])
        for each in document.stated:
            groups[0 if each[1] in known else 1 if each[1] in told else 2].append(each)
        rest = sorted(groups[2], key=lambda each: -len(stems & content_stems(f"{each[0]} {each[2]}")) - rnd.random())
        near, far = rest[:NEAR], rest[NEAR:]
        rnd.shuffle(groups[0])
        rnd.shuffle(groups[1])
        rnd.shuffle(far)
        elsewhere = [rnd.choice(rnd.choice(others).stated) for _ in range(CANDIDATES)]
        chosen = [*groups[0][:ANSWERS], *groups[1][:SAID], *near, *far][: CANDIDATES - 2]
        chosen = [*chosen, *elsewhere][:CANDIDATES]
        grades = [known.get(each[1], 0) for each in chosen]
        return Row(document.name, message, asked, tuple((line, read) for line, _, read in chosen), tuple(grades), leans)

    def told_before(turn: Turn) -> list[str]:
        return [text for _, asked in turn.before for text in document.questions.get(asked, ([], []))[0]]

    for turn in document.turns:
        typed = [each for each, _ in turn.before]
        last = answer(turn.before[0][1])
        yield row(in_context(turn.typed, typed, last), turn.asked, told_before(turn), True)
        chance = rnd.random()
        if chance < WITHOUT_ANSWER:
            last = ""
        elif chance < WITHOUT_ANSWER + WITH_ANOTHER:
            last = rnd.choice(document.stated)[1]
        yield row(in_context(turn.typed, typed[: rnd.choice((1, 2, 3))], last), turn.asked, told_before(turn), True)
    questions = rnd.sample(sorted(document.questions), min(STANDING + ALONE, len(document.questions)))
    for number, asked in enumerate(questions):
        source = document if rnd.random() < 0.6 or not others else rnd.choice(others)
        turn = rnd.choice(source.turns) if source.turns else None
        if turn is None or number >= STANDING:
            yield row(in_context(asked, [], ""), asked, [], False)
            continue
        typed = [turn.typed, *(each for each, _ in turn.before)]
        whole = source.questions.get(turn.asked, ([], []))[0] if rnd.random() > WITHOUT_ANSWER else []
        told = whole if source is document else []
        yield row(in_context(asked, typed, " ".join(whole[:2])), asked, told, False)


def rows_of_talks(rnd: random.Random) -> Iterator[Row]:
    """The turns of the condenser's talks: nobody has marked which sentences answer."""
    talks = [json.loads(line) for file in sorted(TALKS.glob("*.jsonl")) for line in file.read_text().splitlines()]
    every = [sentence for talk in talks for turn in talk["turns"] for sentence in sentences(turn["answer"] or "")]
    for talk in talks:
        turns = talk["turns"]
        for number, turn in enumerate(turns):
            if not number or not turn["answer"]:
                continue
            own = sentences(turn["answer"])[:6]
            beside = [each for other in turns if other is not turn for each in sentences(other["answer"] or "")]
            rnd.shuffle(beside)
            chosen = [*own, *beside[: CANDIDATES - 2 - len(own)]]
            chosen += rnd.sample(every, CANDIDATES - len(chosen))
            typed = [each["question"] for each in reversed(turns[:number])]
            last = (turns[number - 1]["answer"] or "") if rnd.random() > WITHOUT_ANSWER else ""
            message = in_context(turn["question"], typed, last)
            grades = (UNKNOWN,) * CANDIDATES
            texts = tuple(("", " ".join(each.split())) for each in chosen)
            yield Row(f"talk {talk['conversation_id']}", message, turn["rewrite"], texts, grades, turn["needs_context"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    rnd = random.Random(SEED)
    known = documents()
    rows = [row for each in known for row in rows_of(each, [other for other in known if other is not each], rnd)]
    print(f"{len(rows)} rows of our documents, {sum(each.leans for each in rows)} of them lean", flush=True)
    rows += rows_of_talks(rnd)
    print(f"{len(rows)} rows with those of talks", flush=True)
    tokenizer = Tokenizer.from_file(str(pinned_weights().tokenizer))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def tokens(texts: Sequence[str], most: int) -> list[list[int]]:
        clean = [each.encode("utf-8", "replace").decode("utf-8") for each in texts]
        return [each.ids[:most] for each in tokenizer.encode_batch(clean, add_special_tokens=False)]

    numbers = {
        each: number for number, each in enumerate(dict.fromkeys(pair for row in rows for pair in row.sentences))
    }
    titles = tokens([title for title, _ in numbers], IN_CONTEXT.title)
    texts = tokens([text for _, text in numbers], IN_CONTEXT.tokens)
    places = {name: number for number, name in enumerate(dict.fromkeys(row.document for row in rows))}
    parts = {
        "message": tokens([row.message for row in rows], IN_CONTEXT.question),
        "asked": tokens([row.asked for row in rows], IN_CONTEXT.question),
        "text": [title + text for title, text in zip(titles, texts, strict=True)],
    }
    arrays: packed.Weights = {
        "candidates": np.array([[numbers[pair] for pair in row.sentences] for row in rows], np.uint32),
        "grades": np.array([row.grades for row in rows], np.int8),
        "leans": np.array([row.leans for row in rows]),
        "document": np.array([places[row.document] for row in rows], np.uint16),
    }
    for name, ids in parts.items():
        arrays[f"{name}_ids"] = np.array([token for each in ids for token in each], np.uint16)
        arrays[f"{name}_sizes"] = np.array([len(each) for each in ids], np.uint8)
    packed.write(given.out, arrays)


if __name__ == "__main__":
    main()
