"""Make what train.py learns from: questions with candidate passages as tokens, and the teacher's weights.

    python training/reranker/prepare.py data DIR OUT.npz.xz [--cache DIR]     (DIR holds rewrite/, mtrag/, doc2dial/)
    python training/reranker/prepare.py teacher MODEL.onnx OUT.npz.xz         (a dynamically quantised cross-encoder)

Every question gets CANDIDATES passages: what it was made of or its answer, passages near that one (by the vectors that
`turnwise eval retrieval` left in its cache, where there are any), passages that share its words, and some at random. A
question of our own (asked.jsonl) gets those that were judged for it and the best of a search by words and meaning.
Besides there are rows of single sentences, as the judge of the extractive answers reads them: of these passages, and of
documents of our own (documents/). Of each pair it is noted which pieces the product would read. Needs `scipy` and
`onnx`; run from the repository's root with it on the path.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sqlite3
import time
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from scipy import sparse
from tokenizers import Tokenizer

from training import packed
from training.texts import Asked, Text, made, passages, rewritten
from turnwise.documents.chunk import chunk
from turnwise.documents.parse import parse
from turnwise.extractive.statements import Statement, statements
from turnwise.models import reranker
from turnwise.models.embedder import OnnxEmbedder
from turnwise.models.weights import pinned_weights
from turnwise.text import content_stems, content_words, sentences, stem

SEED = 11
CANDIDATES = 18
KEPT = {"clapnq": 12_000, "cloud": 7_000, "fiqa": 9_500, "govt": 1_000, "doc2dial": 1_400}  # passages of a collection
MADE = 34_000  # questions out of passages
MORE = 10_000  # questions of CANARD's training part, whose answers are not known
NEAR = 12  # passages that are looked at as neighbours
OWN = Path(__file__).parent / "asked.jsonl"  # questions of our own, with the grades of passages where they were judged
MARKED = Path(__file__).parent / "marked.jsonl"  # by question and passage: the sentences that answer, or only seem to
DOCUMENTS = Path(__file__).parent / "documents"  # of our own, each with questions and what it states that answers them
ALONE = 6_500  # questions of our own that are asked of single sentences too, besides those with marks
BEFORE = 10  # a rank r counts 1 / (BEFORE + r) where two rankings become one
Grades = dict[int, int]  # by passage: 0 (another subject) to 3 (answers the question)


def gather(folder: Path, rnd: random.Random) -> tuple[list[Text], list[Asked], list[tuple[Asked, Grades]]]:
    """The passages, the answers among them, the questions, and those of our own with their grades."""
    every = passages(folder)
    own = [json.loads(line) for line in OWN.read_text().splitlines()]
    needed = {key for row in own for key in (row["passage"], *row["grades"])}
    chosen: list[Text] = []
    for name, most in KEPT.items():
        of_it = [each for each in every if each.collection == name and len(each.text) > 40]
        taken = [each for each in of_it if each.key in needed]
        chosen += taken + rnd.sample(
            [each for each in of_it if each.key not in needed], min(most, len(of_it)) - len(taken)
        )
    places = {each.key: number for number, each in enumerate(chosen)}
    written = [
        (
            Asked(row["question"], places[row["passage"]], False),
            {places[key]: grade for key, grade in row["grades"].items() if key in places},
        )
        for row in own
        if row["passage"] in places
    ]
    asked: list[Asked] = []
    unanswered: list[Asked] = []
    numbers: dict[str, int] = {}
    sources = len(chosen)
    for question, answer in rewritten(folder):
        if not 2 <= len(question.split()) <= 40:
            continue
        if len(answer.split()) < 4 or re.search(r"CANNOTANSWER|I don't know", answer):
            unanswered.append(Asked(question, None, False))
            continue
        if answer not in numbers:
            numbers[answer] = len(chosen)
            chosen.append(Text("answers", question, "", answer[:1600]))
        asked.append(Asked(question, numbers[answer], True))
    asked += rnd.sample(unanswered, min(MORE, len(unanswered)))
    pool: list[Asked] = []
    for number in range(sources):
        of_it = [Asked(question, number, False) for question in dict.fromkeys(made(chosen[number], rnd))]
        pool += rnd.sample(of_it, min(2, len(of_it)))
    asked += rnd.sample(pool, min(MADE, len(pool)))
    rnd.shuffle(asked)
    return chosen, asked, written


# --- candidates --------------------------------------------------------------------------------------------------


def by_words(texts: list[Text], asked: list[Asked], most: int = 50) -> np.ndarray:
    """The passages with the best BM25 score, best first, by question."""
    stems = [[stem(word) for word in content_words(f"{each.title} {each.text}")] for each in texts]
    known = {key: number for number, key in enumerate(sorted({key for each in stems for key in each}))}
    row = np.repeat(np.arange(len(stems)), [len(each) for each in stems])
    column = np.array([known[key] for each in stems for key in each])
    counts = sparse.csr_matrix((np.ones(len(row), np.float32), (row, column)), (len(stems), len(known)))
    counts.sum_duplicates()
    length = np.asarray(counts.sum(1)).ravel()
    having = np.bincount(counts.indices, minlength=len(known))
    rare = np.log1p((len(stems) - having + 0.5) / (having + 0.5)).astype(np.float32)
    rare[having > len(stems) * 0.15] = 0
    norm = 0.9 * (0.6 + 0.4 * length / length.mean())
    counts.data = counts.data * 1.9 / (counts.data + np.repeat(norm, np.diff(counts.indptr))) * rare[counts.indices]
    turned = counts.T.tocsr().astype(np.float32)
    found = np.empty((len(asked), most), np.int32)
    for start in range(0, len(asked), 400):
        some = [[known[key] for key in content_stems(each.text) if key in known] for each in asked[start : start + 400]]
        row = np.repeat(np.arange(len(some)), [len(each) for each in some])
        ones = np.ones(len(row), np.float32)
        questions = sparse.csr_matrix((ones, (row, [at for each in some for at in each])), (len(some), len(known)))
        scores = (questions @ turned).toarray()
        best = np.argpartition(-scores, most, axis=1)[:, :most]
        order = np.argsort(-np.take_along_axis(scores, best, 1), axis=1)
        found[start : start + len(some)] = np.take_along_axis(best, order, 1)
    return found


def vectors_of(texts: list[Text], cache: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """By collection: the numbers of the passages whose vectors are known, and these."""
    for name in sorted({each.collection for each in texts}):
        held: dict[str, bytes] = {}
        for file in cache.glob(f"*{name}-*/library.db"):
            with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
                held |= database.execute(
                    "SELECT source, vector FROM documents JOIN passages ON document_id = documents.id"
                    " JOIN vectors ON passage_id = passages.id WHERE documents.passages = 1"
                )
        at = np.array([number for number, each in enumerate(texts) if each.collection == name and each.key in held])
        if len(at) > NEAR:
            yield at, np.array([np.frombuffer(held[texts[n].key], np.float16) for n in at]).astype(np.float32)


def by_vectors(texts: list[Text], cache: Path) -> np.ndarray:
    """The nearest passages of the same collection, by passage; -1 where it is not known."""
    near = np.full((len(texts), NEAR), -1, np.int32)
    for at, vectors in vectors_of(texts, cache):
        for start in range(0, len(at), 1000):
            scores = vectors[start : start + 1000] @ vectors.T
            best = np.argpartition(-scores, NEAR + 1, axis=1)[:, : NEAR + 1]
            for number, row in zip(at[start : start + 1000], best, strict=True):
                near[number] = [at[other] for other in row if at[other] != number][:NEAR]
    return near


def by_both(texts: list[Text], written: list[Asked], by_word: np.ndarray, cache: Path) -> list[list[int]]:
    """The best passages of its collection for a question of our own, by words and meaning."""
    known = {int(number): (at, vectors) for at, vectors in vectors_of(texts, cache) for number in at}
    embedder = OnnxEmbedder()
    found = []
    for asked, words in zip(written, by_word, strict=True):
        worth: dict[int, float] = {}
        if asked.passage in known:
            at, vectors = known[asked.passage]
            near = at[np.argsort(-(vectors @ embedder.embed_query(asked.text)))[:50]]
            worth = {int(number): 1 / (BEFORE + rank) for rank, number in enumerate(near)}
        for rank, number in enumerate(words.tolist()):
            worth[number] = worth.get(number, 0) + 0.6 / (BEFORE + rank)
        found.append(sorted(worth, key=lambda number: -worth[number]))
    return found


def candidates(asked: Asked, words: np.ndarray, near: np.ndarray, count: int, rnd: random.Random) -> list[int]:
    """What a question is judged with; first what it came from, where that is known."""
    chosen = [] if asked.passage is None else [asked.passage]
    centre = int(words[0]) if asked.passage is None or near[asked.passage][0] < 0 else asked.passage
    beside = [int(each) for each in near[centre] if each >= 0]
    chosen += rnd.sample(beside, min(4, len(beside)))
    chosen += rnd.sample(words[:10].tolist(), 7) + rnd.sample(words[10:].tolist(), 4)
    chosen += [rnd.randrange(count) for _ in range(2)]
    chosen = list(dict.fromkeys(chosen))[:CANDIDATES]
    for each in words.tolist():
        if len(chosen) == CANDIDATES:
            break
        if each not in chosen:
            chosen.append(each)
    return chosen


# --- single sentences ---------------------------------------------------------------------------------------------


def in_sentences(
    texts: list[Text], own: list[tuple[Asked, Grades]], chosen: list[list[int]], rnd: random.Random
) -> tuple[list[Text], list[tuple[int, list[int], Grades]]]:
    """Sentences as texts of their own, and rows: the number of a question of ours, its candidates, their grades.

    A sentence that answers has 3, any other of a passage that was judged 1 where this is about the matter and else 0;
    what was not judged is not known. The answers come first, then what seems to answer, then what shares most words
    with the question.
    """
    marked: dict[str, dict[str, dict[str, list[int]]]] = {}
    for row in map(json.loads, MARKED.read_text().splitlines()):
        marked.setdefault(row["question"], {})[row["passage"]] = row
    found: list[Text] = []
    numbers: dict[tuple[int, int], int] = {}
    rows = []
    judged = [number for number, (_, grades) in enumerate(own) if grades]
    others = [number for number, (_, grades) in enumerate(own) if not grades]
    for number in sorted(judged + rnd.sample(others, min(ALONE, len(others)))):
        asked, grades = own[number]
        stems, marks = content_stems(asked.text), marked.get(asked.text, {})
        told: list[tuple[int, float, tuple[int, int], str]] = []  # what it is, how near, where, and its text
        for passage in chosen[number]:
            parts = [" ".join(each.split()) for each in sentences(texts[passage].text)]
            parts = [each for each in parts if each]
            marks_here = marks.get(texts[passage].key)
            if grades and (passage not in grades or (grades[passage] > 1 and marks_here is None)):
                continue
            for at, part in enumerate(parts):
                grade = min(grades.get(passage, -1), 1)
                if marks_here is not None:
                    grade = 3 if at in marks_here["answers"] else 1
                seems = marks_here is not None and at in marks_here["near"]
                shared = len(stems & content_stems(part)) + rnd.random()
                read = Statement(part, before=parts[at - 1] if at else "").reading(True)
                told.append((grade, shared + 10 * seems, (passage, at), read))
        told.sort(key=lambda each: (-(each[0] == 3), -each[1]))
        told = told[:CANDIDATES]
        if len(told) < CANDIDATES:
            continue
        row = []
        for _, _, place, part in told:
            if place not in numbers:
                numbers[place] = len(texts) + len(found)
                source = texts[place[0]]
                found.append(Text(source.collection, f"{source.key}.{place[1]}", source.title, part))
            row.append(numbers[place])
        rows.append((number, row, {at: grade for at, (grade, *_) in zip(row, told, strict=True) if grade >= 0}))
    return found, rows


def of_documents(first: int, rnd: random.Random) -> tuple[list[Text], list[tuple[str, list[int], Grades, str]]]:
    """What our own documents state, numbered from `first`, and rows: a question, its candidates, their grades, its
    document. What answers comes first, then what answers a part, then what shares most words with the question."""
    found: list[Text] = []
    rows = []
    for file in sorted(DOCUMENTS.glob("*.md")):
        numbers: dict[tuple[str, str], int] = {}
        stated = of_document(file)
        for line in file.with_suffix(".jsonl").read_text().splitlines():
            row = json.loads(line)
            if not {*row["answers"], *row["partly"]} <= {statement.text for _, statement in stated}:
                continue  # it was marked when documents were read in another way
            stems = content_stems(row["question"])
            told = []
            for heading, statement in stated:
                grade = 3 if statement.text in row["answers"] else 2 if statement.text in row["partly"] else -1
                text = statement.reading(True)
                shared = len(stems & content_stems(f"{heading} {text}"))
                told.append((grade if grade > 0 else min(shared, 1), shared + rnd.random(), heading, text))
            told.sort(key=lambda each: (-each[0] if each[0] > 1 else 0, -each[1]))
            for _, _, *read in told[:CANDIDATES]:
                if tuple(read) not in numbers:
                    numbers[read[0], read[1]] = first + len(found)
                    found.append(Text("documents", f"{file.stem}.{len(numbers)}", *read))
            of_it = {numbers[heading, text]: grade for grade, _, heading, text in told[:CANDIDATES]}
            if len(of_it) == CANDIDATES:
                rows.append((row["question"], list(of_it), of_it, file.stem))
    return found, rows


def of_document(file: Path) -> list[tuple[str, Statement]]:
    """What a document states, each with the line that stands before it as the judge reads it."""
    parsed = parse(file)
    return [
        (reranker.title_line(parsed.title, passage.heading), statement)
        for passage in chunk(parsed)
        for statement in statements(passage.text)
    ]


# --- arrays ------------------------------------------------------------------------------------------------------


def masks(job: tuple[str, int, list[int]]) -> list[tuple[int, int]]:
    """By candidate, the pieces that the student and the teacher read, as bits; 0 stands for all."""
    question, tokens, chosen = job
    held = [PIECES[number] for number in chosen]
    weights = reranker.rarity(question, held)
    found = []
    for number, each in zip(chosen, held, strict=True):
        pair = []
        for room in (reranker.STUDENT, reranker.TEACHER):
            title = min(room.title, TITLES[number])
            fits = reranker.room_for_text(room, min(tokens, room.question), title)
            read = reranker.choose(each, weights, fits)
            pair.append(0 if len(read) == len(each.texts) else sum(1 << at for at in read))
        found.append((pair[0], pair[1]))
    return found


PIECES: list[reranker.Pieces] = []  # of every passage, and how many tokens its title has: for the processes that choose
TITLES: list[int] = []


def data(folder: Path, out: Path, cache: Path) -> None:
    rnd = random.Random(SEED)
    texts, asked, own = gather(folder, rnd)
    print(
        f"{len(texts)} passages, {len(asked)} questions, {sum(each.real for each in asked)} with an answer;"
        f" {len(own)} of our own, {sum(bool(grades) for _, grades in own)} of them judged",
        flush=True,
    )
    tokenizer = Tokenizer.from_file(str(pinned_weights().tokenizer))

    def tokens(batch: list[str]) -> list[list[int]]:
        clean = [each.encode("utf-8", "replace").decode("utf-8") for each in batch]
        return [each.ids for each in tokenizer.encode_batch(clean, add_special_tokens=False)]

    started = time.time()
    written = [each for each, _ in own]
    words, near = by_words(texts, asked + written), by_vectors(texts, cache)
    print(f"searched, {time.time() - started:.0f} s; neighbours of {int((near[:, 0] >= 0).sum())}", flush=True)
    chosen = [candidates(each, words[row], near, len(texts), rnd) for row, each in enumerate(asked)]
    for (each, grades), best in zip(own, by_both(texts, written, words[len(asked) :], cache), strict=True):
        chosen.append(list(dict.fromkeys([each.passage, *grades, *best]))[:CANDIDATES])
    more, alone = in_sentences(texts, own, chosen[len(asked) :], rnd)
    of = np.array([*range(len(chosen)), *(len(asked) + number for number, _, _ in alone)])
    texts += more
    chosen += [row for _, row, _ in alone]
    own += [(Asked(own[number][0].text, None, False), grades) for number, _, grades in alone]
    stated, told = of_documents(len(texts), rnd)
    places = [document for _, _, _, document in told]
    of = np.concatenate([of, [len(chosen) + places.index(document) for document in places]])
    texts += stated
    chosen += [row for _, row, _, _ in told]
    own += [(Asked(question, None, False), grades) for question, _, grades, _ in told]
    asked += [each for each, _ in own]
    print(f"{len(alone)} rows of {len(more)} sentences, {len(told)} of {len(stated)} of our documents", flush=True)
    PIECES.extend(reranker.pieces.__wrapped__(each.text) for each in texts)
    titles = [ids[: reranker.TEACHER.title] for ids in tokens([reranker.title_line(each.title, "") for each in texts])]
    TITLES.extend(map(len, titles))
    flat = tokens([piece for each in PIECES for piece in each.texts])
    print(f"{sum(map(len, flat))} tokens", flush=True)
    print(f"and for our own, {time.time() - started:.0f} s", flush=True)
    questions = [ids[: reranker.TEACHER.question] for ids in tokens([each.text for each in asked])]
    jobs = [(each.text, len(ids), row) for each, ids, row in zip(asked, questions, chosen, strict=True)]
    with Pool(2) as pool:
        read = np.array(pool.map(masks, jobs, chunksize=500), np.uint64)
    print(f"chosen, {time.time() - started:.0f} s", flush=True)
    arrays = {
        "ids": np.array([token for piece in flat for token in piece], np.uint16),
        "piece_sizes": np.array([len(piece) for piece in flat], np.uint16),
        "pieces": np.array([len(each.texts) for each in PIECES], np.uint8),
        "title_ids": np.array([token for ids in titles for token in ids], np.uint16),
        "title_sizes": np.array(TITLES, np.uint8),
        "question_ids": np.array([token for ids in questions for token in ids], np.uint16),
        "question_sizes": np.array([len(ids) for ids in questions], np.uint8),
        "candidates": np.array(chosen, np.uint32).T,  # slot by slot: alike numbers stand together
        "student": read[:, :, 0].T,
        "teacher": read[:, :, 1].T,
        "kind": np.array([2 if each.real else 0 if each.passage is None else 1 for each in asked], np.uint8),
        "of": of,  # the row with the same question or the first of the same document, whose fate it shares
        "single": np.arange(len(asked)) >= len(asked) - len(alone) - len(told),  # rows of single sentences
        "own": np.arange(len(asked)) >= len(asked) - len(own),
        "grades": np.array(
            [[grades.get(at, -1) for at in row] for row, (_, grades) in zip(chosen[-len(own) :], own, strict=True)],
            np.int8,
        ),
    }
    packed.write(out, arrays)


def teacher(file: Path, out: Path) -> None:
    from training import bert_onnx

    packed.write(out, bert_onnx.read(file))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["data", "teacher"])
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/turnwise/eval")
    args = parser.parse_args()
    if args.what == "data":
        data(args.source, args.out, args.cache)
    else:
        teacher(args.source, args.out)


if __name__ == "__main__":
    main()
