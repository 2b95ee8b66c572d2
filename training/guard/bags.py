"""What train_more.py needs beside encode.py's: long messages in stretches, to learn from, and the sets to be judged.

    python training/guard/bags.py FOLDER TOKENIZER.json LINEAR.npz BENCH OUT [--bags 12000]

FOLDER holds messages.jsonl, LINEAR is the shipped guard.npz, BENCH the folder of public sets. OUT gets bags.npz.xz and
judged.npz.xz, whose rows are never learnt from, and judged.json: [set, family, kind, label, place, talk] of each.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import defaultdict
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from training import packed
from training.guard.prepare import kept
from turnwise.models.guard import READ, SHORT, kind_of, stretches
from turnwise.models.ngrams import Linear

OWN = 4000


def rows(file: Path) -> list[dict]:
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
        return [json.loads(line) for line in lines]


def tokens(texts: list[str], tokenizer: Tokenizer) -> packed.Weights:
    found = []
    for at in range(0, len(texts), 2048):
        clean = [text.encode("utf-8", "replace").decode() for text in texts[at : at + 2048]]
        found += [np.array(each.ids, np.uint16)[kept(len(each.ids))] for each in tokenizer.encode_batch(clean)]
    return {"ids": np.concatenate(found), "sizes": np.array([len(each) for each in found], np.uint16)}


def bags(every: list[dict], most: int, tokenizer: Tokenizer) -> packed.Weights:
    """Long messages of each label, of every kind as many as its share of the root of their number."""
    rnd = random.Random(7)
    by_kind: dict[tuple[int, str], list[dict]] = defaultdict(list)
    for row in every:
        if not row["held"] and len(row["text"]) > SHORT:
            by_kind[row["label"], row["kind"].split("/")[0]].append(row)
    chosen: list[tuple[int, str, str]] = []
    for label in (0, 1):
        kinds = {kind: part for (its, kind), part in by_kind.items() if its == label}
        low, high = 0.0, 1e4
        for _ in range(50):  # the factor of the root at which they are so many
            middle = (low + high) / 2
            total = sum(min(len(part), middle * len(part) ** 0.5) for part in kinds.values())
            low, high = (middle, high) if total < most / 2 else (low, middle)
        for kind, part in sorted(kinds.items()):
            count = min(len(part), round(low * len(part) ** 0.5))
            chosen += [(label, kind, row["text"]) for row in rnd.sample(part, count)]
            print(label, kind, count, "of", len(part))
    texts, bag = [], []
    for number, (_, _, text) in enumerate(chosen):
        spans = stretches(text)
        if len(spans) > READ:
            spans = spans[:2] + sorted(rnd.sample(spans[2:], READ - 2))
        texts += [text[a:b] for a, b in spans]
        bag += [number] * len(spans)
    kinds_ = sorted({kind for _, kind, _ in chosen})
    print(len(chosen), "bags", len(texts), "stretches")
    return tokens(texts, tokenizer) | {
        "counts": np.bincount(bag).astype(np.uint8),
        "labels": np.array([label for label, _, _ in chosen], np.uint8),
        "kind": np.array([kinds_.index(kind) for _, kind, _ in chosen], np.uint16),
    }


def judged(every: list[dict], bench: Path, linear: Linear, tokenizer: Tokenizer) -> tuple[packed.Weights, list[list]]:
    first: dict[str, dict] = {}
    for row in every:
        if row["held"]:
            first.setdefault(row["text"], row)
    own = list(first.values())
    random.Random(5).shuffle(own)
    meta: list[list] = []
    texts: list[str] = []
    counts: list[int] = []
    odds: list[float] = []

    def add(text: str, *about: object) -> None:
        meta.append(list(about))
        if len(text) <= SHORT:
            texts.append(text)
            odds.append(float(linear.score(text)[0]))
            counts.append(1)
            return
        spans = stretches(text)
        said = linear.scores([text[a:b] for a, b in spans])
        read = np.argsort(said)[::-1][:READ]
        texts.extend(text[slice(*spans[at])] for at in read)
        odds.extend(float(said[at]) for at in read)
        counts.append(len(read))

    for row in own[:OWN]:
        add(row["text"], "own", row["kind"].split("/")[0].rstrip("+"), kind_of(row["text"]), row["label"], 0, 0)
    for row in rows(bench / "direct_eval.jsonl.gz"):
        add(row["text"], "direct", row["source"], kind_of(row["text"]), int(row["label"]), 0, 0)
    for name, file in (("benign", "multiturn_benign"), ("composed", "multiturn_injection_composed")):
        for talk, row in enumerate(rows(bench / f"{file}.jsonl.gz")):
            said = [turn["content"] for turn in row["turns"] if turn["role"] == "user"]
            at = [number for number, turn in enumerate(row["turns"]) if turn["role"] == "user"]
            for place, text in enumerate(said):
                label = int(at[place] == int(row.get("attack_turn", -1)))
                add(text, name, row["source"], kind_of(text), label, place, talk)
    for row in rows(bench / "indirect_eval.jsonl.gz")[::2]:
        meta.append(["indirect", row["source"], "planted", int(row["label"]), 0, 0])
        texts.append(row["text"])
        odds.append(0.0)
        counts.append(1)
    made = tokens(texts, tokenizer)
    made["passages"] = np.array(sum(each[0] == "indirect" for each in meta))  # they are the last
    return made | {"counts": np.array(counts, np.uint8), "linear": np.array(odds, np.float32)}, meta


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("folder", "tokenizer", "linear", "bench", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--bags", type=int, default=12_000)
    given = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(given.tokenizer))
    with np.load(given.linear) as stored:
        linear = Linear(stored["weights"] * stored["scale"], float(stored["bias"]))
    every = rows(given.folder / "messages.jsonl")
    made, meta = judged(every, given.bench, linear, tokenizer)
    packed.write(given.out / "judged.npz.xz", made)
    (given.out / "judged.json").write_text(json.dumps(meta))
    print(len(meta), "judged", len(made["sizes"]), "texts")
    packed.write(given.out / "bags.npz.xz", bags(every, given.bags, tokenizer))


if __name__ == "__main__":
    main()
