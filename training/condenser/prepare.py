"""Make the examples that train.py learns from, and pack the encoders it starts from.

    python training/condenser/prepare.py examples DIR OUT.npz     (DIR holds rewrite/ and followup/)
    python training/condenser/prepare.py encoder FILE OUT.npz     (FILE: BERT weights, model.safetensors or model.onnx)
    python training/condenser/prepare.py again condenser.onnx OUT.npz     (a trained condenser, to go on from)

Only sets that may be trained on are read. A part of the conversations (by the CRC-32 of their id) is held out, and
what shares a question with them is not trained on. `encoder` needs `safetensors` or `onnx`.
"""

from __future__ import annotations

import gzip
import itertools
import json
import random
import re
import sys
import zlib
from collections import Counter, defaultdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from edits import edits
from tokenizers import Tokenizer

from turnwise.models.condenser import Layout, lay_out, reader
from turnwise.models.weights import pinned_weights
from turnwise.text import content_stems, phrases, sentences, words
from turnwise.types import Message

Row = dict[str, Any]
SEED = 7
TALKS = Path(__file__).parent / "talks"  # conversations of our own
LEANS = re.compile(
    r"\b(it|its|they|them|their|theirs|he|him|his|she|her|hers|this|that|these|those|one|ones|there|else|other|same)\b",
    re.I,
)
OPENINGS = ["Thanks. ", "Ok, ", "Great! ", "I see. ", "Interesting. ", "Hmm, ", "That is helpful. ", "And ", "So "]
OPENINGS += ["By the way, ", "Okay thanks, ", "Thank you! ", "Got it. "]
SHORT = ["What is {}?", "Tell me about {}", "Explain {}", "How does {} work?", "{}", "What are {}?", "Define {}."]
SHORT += ["Can you tell me about {}?", "I want to know about {}.", "Why is {} important?", "What does {} mean?"]
SHORT += ["What is the history of {}?", "What are the benefits of {}?", "How do I find {}?", "Describe {}."]
SHORT += ["Who is {}?", "Where is {}?", "What do you know about {}?", "Is {} safe?", "How much does {} cost?"]
MENTIONED = ["I am interested in {}.", "I was reading about {}.", "My friend told me about {}.", "I know {}."]
MENTIONED += ["I heard about {} today.", "I want to learn about {}.", "We are talking about {} in class.", "I like {}."]
TOPICS = ["Tell me about {0} {1}", "{0}, {1}", "What do you know about {0}? {1}", "{0}", "Who or what is {0}?"]


# --- rows ---------------------------------------------------------------------------------------------------------


def read(path: Path) -> list[Row]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        return [json.loads(line) for line in lines]


def part_of(row: Row) -> int:
    """Which tenth of the conversations it is of."""
    return zlib.crc32(row["conversation_id"].removeprefix("cast19-").encode()) % 10


def held_out(name: str, row: Row) -> bool:
    """A tenth of the large sets and a fifth of the small ones."""
    part = part_of(row)
    return part == 0 or (part == 1 and name in ("cast19", "ikat23", "labels"))


def missing(row: Row) -> set[str]:
    return content_stems(row["rewrite"]) - content_stems(row["question"])


def stands_alone(question: str) -> bool:
    return not LEANS.search(question) and len(content_stems(question)) >= 2


def of(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def load(folder: Path) -> tuple[dict[str, list[Row]], dict[str, list[Row]]]:
    """The human rows by set, to train on and held out."""
    sets = {name: read(folder / f"rewrite/{name}.jsonl.gz") for name in ("canard", "qrecc")}
    sets |= {name: read(folder / f"rewrite/{name}.jsonl") for name in ("cast19", "ikat23")}
    sets["labels"] = read(folder / "followup/cast19_labels.jsonl")
    sets["more"] = spread(read(folder / "rewrite/canard_train.jsonl.gz"))
    sets["talks"] = [
        row | {"documents": file.stem.startswith("library")}
        for file in sorted(TALKS.glob("*.jsonl"))
        for row in talked(read(file))
    ]
    judged = {(row["conversation_id"], row["turn"]): row["needs_context"] for row in sets["labels"]}
    for name, rows in sets.items():
        for row in rows:
            if name == "cast19":  # where people judged it, their judgement counts, not whether the rewrite differs
                key = (row["conversation_id"].removeprefix("cast19-"), row["turn"])
                row["needs_context"] = judged.get(key, row["needs_context"])
            elif name in ("labels", "ikat23", "talks"):
                continue
            elif unsure(row) or (name == "qrecc" and not row["needs_context"]):
                row["needs_context"] = None
    kept = {name: [row for row in rows if held_out(name, row)] for name, rows in sets.items() if name != "more"}
    known = {key for rows in kept.values() for row in rows for key in keys(row)}
    shared = {
        (name, row["conversation_id"]) for name, rows in sets.items() for row in rows if not known.isdisjoint(keys(row))
    }
    train = {
        name: [row for row in rows if not held_out(name, row) and (name, row["conversation_id"]) not in shared]
        for name, rows in sets.items()
    }
    return train, kept


def talked(conversations: list[Row]) -> list[Row]:
    """The turns of conversations that were written for this."""
    rows = []
    for conversation in conversations:
        history: list[dict[str, str]] = []
        for number, turn in enumerate(conversation["turns"], 1):
            row = {key: turn[key] for key in ("question", "rewrite", "needs_context")}
            row |= {"conversation_id": conversation["conversation_id"], "turn": number, "history": list(history)}
            rows.append(row)
            history += [of("user", turn["question"]), of("assistant", turn["answer"])]
    return rows


def unsure(row: Row) -> bool:
    """A question with a pronoun that a rewriter left as it was."""
    return not missing(row) and bool(LEANS.search(row["question"]))


def keys(row: Row) -> set[str]:
    """The texts by which the same conversation is found in two sets."""
    text = row.get("rewrite") or row["question"]
    return {" ".join(words(text.lower()))} if len(words(text)) > 5 and stands_alone(text) else set()


def spread(conversations: list[Row]) -> list[Row]:
    """The turns of CANARD's training part, of whose answers only keywords are known."""
    rnd = random.Random(SEED)
    rows = []
    for conversation in conversations:
        history: list[dict[str, str]] = []
        for number, turn in enumerate(conversation["turns"], 1):
            row = {key: turn[key] for key in ("question", "rewrite")}
            row |= {"conversation_id": conversation["conversation_id"], "turn": number, "history": list(history)}
            row["needs_context"] = bool(missing(row))
            rows.append(row)
            whole = not history or rnd.random() < 0.15
            history.append(of("user", turn["rewrite"] if whole else turn["question"]))
            keywords = list(dict.fromkeys(word for word in turn["answer_keywords"] if word))
            draw = rnd.random()
            if keywords and draw < 0.5:
                history.append(of("assistant", " ".join(keywords[:24])))
            elif keywords and draw < 0.75:
                history.append(of("assistant", turn["rewrite"].rstrip(" ?") + " " + " ".join(keywords[:16])))
    return rows


# --- what is made of them -----------------------------------------------------------------------------------------


class Answers:
    """Real answers, to stand in for the ones that a set lacks: close to the question, most often beside the point."""

    def __init__(self, texts: list[str], rnd: random.Random) -> None:
        self._texts, self._rnd = texts, rnd
        self._holding: dict[str, list[int]] = defaultdict(list)
        for number, text in enumerate(texts):
            for key in content_stems(text):
                self._holding[key].append(number)
        self._best = lru_cache(None)(self._search)

    def to(self, question: str) -> str:
        text = self._texts[self._rnd.choice(self._best(question))]
        return " ".join(text.split()[: self._rnd.choice([25, 50, 90])])

    def _search(self, question: str) -> list[int]:
        scores: Counter[int] = Counter()
        for key in sorted(content_stems(question)):
            found = self._holding.get(key, [])
            for number in found if len(found) < 1500 else []:
                scores[number] += np.log(len(self._texts) / len(found))
        return [number for number, _ in scores.most_common(6)] or [self._rnd.randrange(len(self._texts))]


def make(train: dict[str, list[Row]], rnd: random.Random) -> dict[str, list[Row]]:
    """The rows to train on by pool: as they are, and changed in ways that keep the labels known."""
    later = {name: [row for row in rows if row["history"]] for name, rows in train.items()}
    small = later["cast19"] + later["ikat23"]
    gold = later["canard"] + later["qrecc"] + small + later["talks"]
    rewritten = gold + later["more"]
    full = {(row["conversation_id"], row["question"]): row["rewrite"] for row in rewritten}
    bank = {said["content"] for row in gold for said in row["history"] if said["role"] == "assistant"}
    answers = Answers(sorted(text for text in bank if len(text.split()) > 12), rnd)

    def answered(row: Row) -> Row:
        history = []
        for said in row["history"]:
            if said["role"] == "user":
                history.append(said)
                if rnd.random() < 0.85:
                    asked = full.get((row["conversation_id"], said["content"]), said["content"])
                    history.append(of("assistant", answers.to(asked)))
        return row | {"history": history}

    def titled(row: Row) -> Row:
        title = rnd.choice(TOPICS).format(*[*row["title"], "", ""][:2]).strip()
        changed = row | {"history": [of("user", title), *row["history"]]}
        return changed | {"needs_context": None if unsure(row) else bool(missing(row))}

    def alone(row: Row, question: str) -> Row:
        return row | {"question": question, "rewrite": question, "needs_context": False}

    def after(row: Row, other: Row) -> Row:
        return row | {"history": other["history"][: rnd.choice([1, 2, 2, 3, 4])] + row["history"]}

    def opened(row: Row) -> Row:
        opening = rnd.choice(OPENINGS)
        return row | {"question": opening + row["question"], "rewrite": opening + row["rewrite"]}

    def varied(row: Row) -> Row:
        kept = [said for said in row["history"] if said["role"] == "user" or rnd.random() < 0.75]
        return row | {"history": [of(said["role"], shortened(said)) for said in kept]}

    def shortened(said: dict[str, str]) -> str:
        parts = sentences(said["content"])
        return " ".join(parts[: rnd.randint(1, 6)]) if said["role"] == "assistant" and parts else said["content"]

    own: dict[str, list[str]] = defaultdict(list)  # the answers of each conversation
    for row in gold:
        own[row["conversation_id"]] += [said["content"] for said in row["history"] if said["role"] == "assistant"]
    own = {key: list(dict.fromkeys(texts)) for key, texts in own.items()}

    def lengthened(row: Row) -> Row:
        """With answers as long as an assistant's: the same, and more out of the same conversation."""
        history = []
        for said in row["history"]:
            if said["role"] == "assistant" and rnd.random() < 0.7:
                more = rnd.sample(own[row["conversation_id"]], min(len(own[row["conversation_id"]]), rnd.randint(1, 3)))
                parts = [said["content"], *(text for text in more if text != said["content"])]
                said = of("assistant", " ".join(parts if rnd.random() < 0.7 else parts[::-1]))
            history.append(said)
        return row | {"history": history}

    # Closest to how people ask an assistant; CANARD is about persons, out of Wikipedia.
    near = small + later["qrecc"] + later["talks"]
    complete = [row for row in rewritten if stands_alone(row["rewrite"]) and missing(row)]
    complete_near = [row for row in near if stands_alone(row["rewrite"]) and missing(row)]
    pools = {
        "canard": later["canard"],
        "qrecc": later["qrecc"],
        "small": small,
        "talks": [row for row in later["talks"] if not row["documents"]],
        "library": [row for row in later["talks"] if row["documents"]],
        "varied": [varied(row) for row in near],
        "more": later["more"],
        "labels": later["labels"],
        "labels_answered": [answered(row) for row in later["labels"] * 2],
        "titled": [titled(row) for row in train["canard"] if row.get("title")],
        "answered": [answered(row) for row in rnd.sample(later["more"], 9000)],
        "small_answered": [answered(row) for row in later["cast19"] * 4 + later["qrecc"]],
        "complete": [alone(row, row["rewrite"]) for row in rnd.sample(complete, 5000) + complete_near],
        "after": [
            after(rnd.choice(near if rnd.random() < 0.6 else rewritten), rnd.choice(rewritten)) for _ in range(7000)
        ],
        "lengthened": [lengthened(row) for row in later["canard"] + later["qrecc"]],
        "opened": [opened(row) for row in rnd.sample(rewritten, 1500) + rnd.sample(near, 1000)],
    }
    histories = rewritten + later["labels"] + pools["answered"] + pools["labels_answered"] + near * 4
    histories += pools["lengthened"] + pools["small_answered"]
    pools["switch"] = switched(train, histories, 12000, rnd)
    pools["paired"] = paired(train, histories, 4000, rnd)
    return pools


def switched(sets: dict[str, list[Row]], histories: list[Row], number: int, rnd: random.Random) -> list[Row]:
    """A question that stands alone, after a conversation about something else: as people open one, a full rewrite, or
    a short one about something that another conversation named."""
    first = [
        row["question"]
        for name, rows in sets.items()
        if name not in ("canard", "more")  # theirs rest on the title of an article
        for row in rows
        if not row["history"] and content_stems(row["question"]) and not LEANS.search(row["question"])
    ]
    rewritten = [row for rows in sets.values() for row in rows if row["history"] and row.get("rewrite")]
    whole = [row for row in rewritten if stands_alone(row["rewrite"])]
    rows: list[Row] = []
    while len(rows) < number:
        row, other, draw = rnd.choice(histories), rnd.choice(whole), rnd.random()
        named = phrases(other["rewrite"])
        question = rnd.choice(first) if draw < 0.45 else other["rewrite"]
        if draw > 0.7 and named:
            question = rnd.choice(SHORT).format(rnd.choice(named))
        said = content_stems(" ".join(each["content"] for each in row["history"]))
        if draw < 0.45 or not content_stems(question) <= said:
            rows.append(row | {"question": question, "rewrite": question, "needs_context": False})
    return rows


def paired(sets: dict[str, list[Row]], histories: list[Row], number: int, rnd: random.Random) -> list[Row]:
    """A message of two sentences, the second of which leans on the first and on nothing before."""
    pairs: list[tuple[Row, str]] = []
    for rows in sets.values():
        for before, row in itertools.pairwise(rows):
            wanted = missing(row) if row["history"] and row.get("rewrite") else set()
            first = before.get("rewrite") or ""
            if wanted and before["conversation_id"] == row["conversation_id"] and wanted <= content_stems(first):
                pairs.append((row, first))
            named = [phrase for phrase in phrases(row.get("rewrite") or "") if wanted <= content_stems(phrase)]
            if wanted and named:
                pairs.append((row, rnd.choice(MENTIONED).format(named[0])))
    made: list[Row] = []
    while len(made) < number:
        row, first = rnd.choice(pairs)
        where = rnd.choice(histories) if rnd.random() < 0.8 else row
        message = f"{first.strip()} {row['question']}"
        made.append(where | {"question": message, "rewrite": message, "needs_context": False})
    return made


# --- arrays -------------------------------------------------------------------------------------------------------


def pack(pools: dict[str, list[Row]]) -> dict[str, np.ndarray]:
    """All examples as flat arrays: tokens and mentions one after the other, with their number by example."""
    tokenizer = Tokenizer.from_file(str(pinned_weights().tokenizer))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    reading = lru_cache(200_000)(reader(tokenizer))
    columns: dict[str, list[int]] = defaultdict(list)
    for number, (name, rows) in enumerate(pools.items()):
        for row in rows:
            layout = lay_out(row["question"], [Message(s["role"], s["content"]) for s in row["history"]], reading)
            add(columns, layout, row, number, name)
        print(f"{name}: {len(rows)}", flush=True)
    kinds = {"ids": np.uint16, "place": np.uint8, "token": np.uint8, "missing": np.int8, "facts": np.uint16}
    kinds |= {"judged": np.int8, "changed": np.int8, "pool": np.uint8, "wanted": np.uint8, "tokens": np.uint8}
    kinds |= {"message_at": np.uint8, "mentions": np.uint8, "part": np.uint8, "words": np.uint8}
    kinds |= {"word": np.uint8, "edit": np.int8}
    packed = {name: np.array(values, kinds[name]) for name, values in columns.items()}
    return packed | {"pools": np.array(list(pools))}


JUDGED = {"labels", "labels_answered", "small", "small_answered", "varied", "switch", "complete", "held_labels"}
JUDGED |= {"talks", "library", "held_talks", "paired", "held_paired", "held_cast19", "held_ikat23", "held_switch"}


def add(columns: dict[str, list[int]], layout: Layout, row: Row, pool: int, name: str) -> None:
    judged, rewrite = row["needs_context"], row.get("rewrite")
    # Where it is only judged: if it stands alone no word is missing, else it is not known which are.
    wanted = missing(row) if rewrite is not None else set() if judged is False else None
    tags = edits(rewrite, layout.words) if rewrite is not None else None
    if judged is False:
        tags = [0] * len(layout.words)
    for mention, place, facts in zip(layout.mentions, layout.places, layout.facts, strict=True):
        columns["token"].append(mention.token)
        columns["place"].append(place)
        columns["missing"].append(-1 if wanted is None else int(mention.word.stem in wanted))
        columns["facts"].append(sum(fact << bit for bit, fact in enumerate(facts)))
    for number, word in enumerate(layout.words):
        columns["word"].append(layout.message_at + word.token)
        columns["edit"].append(-1 if tags is None else tags[number])
    columns["words"].append(len(layout.words))
    columns["ids"].extend(layout.ids)
    columns["tokens"].append(len(layout.ids))
    columns["message_at"].append(layout.message_at)
    columns["mentions"].append(len(layout.mentions))
    columns["judged"].append(-1 if judged is None or name not in JUDGED else int(judged))
    unclear = wanted is None or (not wanted and LEANS.search(row["question"]))
    columns["changed"].append(-1 if unclear else int(bool(wanted)))
    columns["wanted"].append(len(wanted or ()))
    columns["pool"].append(pool)
    columns["part"].append(part_of(row))


def examples(folder: Path, out: Path) -> None:
    rnd = random.Random(SEED)
    train, kept = load(folder)
    print({name: (len(train[name]), len(kept.get(name, ()))) for name in train})
    pools = make(train, rnd)
    later = {name: [row for row in rows if row["history"]] for name, rows in kept.items()}
    histories = later["canard"] + later["qrecc"] + later["ikat23"] * 3 + later["cast19"] + later["talks"]
    held = {f"held_{name}": rows for name, rows in later.items()}
    held["held_switch"] = switched(kept, histories, 2000, rnd)
    held["held_paired"] = paired(kept, histories, 500, rnd)
    np.savez_compressed(out, **pack(pools | held))


# --- encoders -----------------------------------------------------------------------------------------------------


def encoder(file: Path, out: Path) -> None:
    """BERT weights under their Hugging Face names, matrices as int8 by row with a scale: a quarter of the size."""
    if file.suffix == ".onnx":
        weights = from_onnx(file)
    else:
        from safetensors.numpy import load_file

        weights = load_file(file)
    packed: dict[str, np.ndarray] = {}
    for name, weight in weights.items():
        name = name.removeprefix("bert.")
        if not name.startswith(("embeddings.", "encoder.")) or "position_ids" in name:
            continue
        if weight.ndim == 2 and weight.size > 50_000:
            scale = np.abs(weight).max(1, keepdims=True).astype(np.float32) / 127 + 1e-12
            packed[f"{name}|int8"] = np.round(weight / scale).astype(np.int8)
            packed[f"{name}|scale"] = scale
        else:
            packed[name] = weight.astype(np.float32)
    np.savez_compressed(out, **packed)


def from_onnx(file: Path) -> dict[str, np.ndarray]:
    """The weights of a float ONNX export: its matrices have lost their names, but the biases added to them have not."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(file).graph
    found = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    weights = {name: value for name, value in found.items() if name.startswith(("embeddings.", "encoder."))}
    matrix = {
        node.output[0]: node.input[1] for node in graph.node if node.op_type == "MatMul" and node.input[1] in found
    }
    for node in graph.node:
        if node.op_type == "Add" and matrix.keys() & set(node.input):
            bias = next(name for name in node.input if name.endswith(".bias"))
            product = next(name for name in node.input if name in matrix)
            weights[bias.removesuffix("bias") + "weight"] = np.ascontiguousarray(found[matrix[product]].T)
    return weights


def again(file: Path, out: Path) -> None:
    """The weights of a trained condenser as train.py saves them, out of what export.py made of them."""
    import onnx
    from onnx import numpy_helper

    found = {each.name: numpy_helper.to_array(each) for each in onnx.load(file).graph.initializer}
    weights = {name: value for name, value in found.items() if name.endswith((".weight", ".bias"))}
    for name in [name for name in found if name.endswith(".zero")]:
        plain = name.removesuffix(".zero")
        weights[f"{plain}.weight|int8"] = weights.pop(f"{plain}.weight").T
        weights[f"{plain}.weight|scale"] = found[f"{plain}.scale"][:, None]
    weights |= {"words.weight|int8": found["words"], "words.weight|scale": found["words.scale"]}
    weights["positions.weight"] = np.pad(found["positions"], ((0, 512 - len(found["positions"])), (0, 0)))
    place = found["missing.place"]  # what the embedding of a place and the head made of it
    weights["places.weight"] = np.eye(len(place), 2 * len(place), dtype=np.float32)
    rows = ("missing.mention", "missing.message", "missing.place", "missing.nothing", "missing.facts")
    found["missing.nothing"] = np.zeros_like(place)
    weights["missing.0.weight"] = np.concatenate([found[name] for name in rows]).T
    weights["context.0.weight"] = found["context.0"].T
    weights["edit.0.weight"] = np.concatenate([found["edit.asked"], found["edit.start"]]).T
    weights |= {f"{head}.2.weight": found[f"{head}.2"].T for head in ("missing", "context", "edit")}
    np.savez_compressed(out, **weights)


if __name__ == "__main__":
    {"examples": examples, "encoder": encoder, "again": again}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
