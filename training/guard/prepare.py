"""Make what train.py and linear.py learn from: messages with a label, and passages with what was planted in them.

    python training/guard/prepare.py DIR DOCS OUT       (DIR holds rewrite/ and guard/; DOCS unpacked documentation)

OUT gets messages.jsonl and passages.jsonl, for linear.py and to look at, and data.npz.xz, the same as tokens. Of DIR
only what may be trained on is read. Run from the repository's root with it on the path.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from training import packed
from training.guard.texts import (
    Example,
    Line,
    answers,
    asked,
    chatted,
    chosen,
    chunks,
    lines,
    planted,
    quoted,
    sentences_of,
    slipped,
    talked,
    variants,
    worn,
)
from training.texts import rows
from turnwise.models.guard import SHORT_MESSAGE_CHARS, stretches
from turnwise.models.weights import pinned_weights

SEED = 29
LONGEST = 256  # tokens
LANGUAGES = (
    *("multilingual_a", "multilingual_b", "multilingual2_a", "multilingual2_b"),
    *("multilingual3", "multilingual4", "multilingual5", "multilingual6"),
)
# Written without groups, each line by itself, attacks beside their honest neighbours: learnt COPIES times, each time
# typed a little otherwise.
FREE = (
    *("direct_en", "hidden_en", "hijack_en", "pasted_en", "pasted2_en", "personas_en", "second_en", "honest_en"),
    *("errands_en", "errands2_en", "errands3_en", "errands4_en", "elaborate_en"),
    *("direct2_en", "direct3_en", "direct4_en", "direct5_en", "pasted3_en", "pasted4_en", "pasted5_en", "honest2_en"),
    *("multilingual7_a", "multilingual7_b", "multilingual7_c", "multilingual8_a", "multilingual8_b", "multilingual8_c"),
    *("multilingual9_a", "multilingual9_b", "multilingual9_c"),
)
COPIES = 6
GROUPS = 28  # kinds that such a file counts as: each is drawn alike often, however finely its author named things
ATTACKS = (
    *("attacks_en", "attacks2_en", "attacks3_en", "attacks4_en", "attacks_long_en", "mixed5_en"),
    *(*LANGUAGES, *FREE),
)
BENIGN = (
    *("dialog_en", "benign_en", "benign2_en", "benign3_en", "benign4_en", "benign5_en", "benign6_en", "mixed5_en"),
    *("roleplay_benign_en", *LANGUAGES, *FREE),
)
SPOKEN = ("dialog_en", "benign5_en", "benign6_en")  # as people speak in a conversation: each line stands for many
ELABORATE = ("roleplay_benign_en", "benign2_en", "benign3_en", "benign4_en", "mixed5_en")
PAYLOADS = ("payloads", "payloads2", "payloads3", "payloads4")
PASSAGES = ("passages", "passages2", "passages3", "passages4")
TASKS = ("tasks", "security_code", "coding", "writing", "creative")
STEERING = ("override", "answer_manipulation", "exfiltration", "fake_system", "phishing", "multilingual")
PASTED = (
    "Summarise this text: {}",
    "{}\n\nWhat is the main point of the text above?",
    "Translate the following into German:\n{}",
    'What are the conclusions of this article: "{}"',
    "Fix the grammar: {}",
    "Here is a page I found:\n{}\nWhat does it say?",
    "<document>{}</document> Which dates are mentioned?",
    "What does this code do: {}",
    "{}",
)


def messages(folder: Path, passages: list[str], rnd: random.Random) -> list[Example]:
    attack = [line for line in lines(*ATTACKS) if line.label == 1]
    benign = [line for line in lines(*BENIGN) if line.label == 0]
    people = asked(folder)
    rnd.shuffle(people)
    found: list[Example] = []

    def add(text: str, label: int, kind: str, held: bool) -> None:
        found.append(Example(text if held else worn(text, rnd), label, kind, held))

    def kind_of(line: Line) -> str:
        return f"{line.file}/{line.number % GROUPS if line.file in FREE else line.kind}"

    told: dict[bool, list[str]] = {
        True: [],
        False: [],
    }  # to set beside attacks, by whether held out
    for line in benign:
        most = 60 if line.file in SPOKEN else 24 if line.file in ELABORATE else 14
        each = variants(line, most, rnd)
        told[line.held] += each[:4]
        if line.file in FREE:  # of a long message, which is read in stretches, each is honest too
            long = [text for text in each if len(text) > SHORT_MESSAGE_CHARS]
            each = each * COPIES + [text[a:b] for text in long for a, b in stretches(text)]
        for text in each:
            add(text, 0, kind_of(line), line.held)
    for number, text in enumerate(chatted(folder)):
        add(text, 0, "chat", number % 10 == 0)
    for number, (kind, text) in enumerate(talked()):
        add(text, 0, kind, number % 10 == 0)
    for number, text in enumerate(people[:14_000]):
        add(text, 0, "asked", number % 10 == 0)
        told[number % 10 == 0].append(text)
    loose = [part for text in passages for part in sentences_of(text) if 25 < len(part) < 250]
    foreign = [part for part in loose if not part.isascii()]
    for number, text in enumerate(rnd.sample(foreign, 5_000) + rnd.sample(loose, 2_000)):
        add(text, 0, "sentence", number % 10 == 0)
        told[number % 10 == 0].append(text)
    parts = [line for line in attack if line.kind == "persona_part"]
    whole = [line for line in attack if line.kind != "persona_part"]
    for line in whole:
        each = variants(line, {"attacks_long_en": 24, "attacks4_en": 40}.get(line.file, 16), rnd)
        kind = kind_of(line)
        for text in each * COPIES if line.file in FREE else each:
            add(text, 1, kind, line.held)
            if rnd.random() < 0.3 and len(text) < 600:  # beside something honest
                other = chosen(told[line.held], rnd)
                both = [other, text] if rnd.random() < 0.7 else [text, other]
                add(rnd.choice([" ", "\n", "\n\n", ". "]).join(both), 1, f"{kind}+", line.held)
            if rnd.random() < 0.25 and len(text) < 220:
                add(quoted(text, rnd), 0, "quoted", line.held)
    for held in (True, False):
        of_it = [line for line in parts if line.held is held]
        for _ in range(200 if held else 1_800):
            of_them = [variants(line, 1, rnd)[0] for line in rnd.sample(of_it, min(len(of_it), rnd.randint(2, 6)))]
            add(rnd.choice([" ", "\n", "\n\n"]).join(of_them), 1, "persona parts", held)
        for _ in range(250 if held else 2_500):  # honest texts beside each other
            several = [chosen(told[held], rnd) for _ in range(rnd.randint(2, 6))]
            add(rnd.choice([" ", "\n", "\n\n"]).join(several), 0, "several", held)
    payloads = [line for line in lines(*PAYLOADS) if any(line.kind.startswith(kind) for kind in STEERING)]
    own = lines(*PASSAGES)
    for number, passage in enumerate(rnd.sample(passages, 5_000) + [v for line in own for v in variants(line, 6, rnd)]):
        held = number % 10 == 0
        frame = chosen(PASTED, rnd)
        add(frame.format(passage[:900]), 0, "pasted", held)
        if number % 3 == 0:
            steering = [line for line in payloads if line.held is held]
            payload = variants(rnd.choice(steering), 1, rnd)[0]
            add(frame.format(planted(passage[:700], payload, rnd)[0]), 1, "pasted+", held)
    for row in rows(folder / "guard/direct_train_deepset.jsonl.gz"):  # so few that none is held out
        for _ in range(12 if row["label"] else 4):
            add(row["text"], row["label"], f"deepset/{row['label']}", False)
        for _ in range(6 if row["label"] else 0):
            add(f"{chosen(told[False], rnd)} {row['text']}", 1, "deepset/1+", False)
    return found


def documents(folder: Path, passages: list[str], rnd: random.Random) -> list[Example]:
    """Passages as they are, with something planted that steers an assistant, and with a sentence of another passage."""
    payloads = lines(*PAYLOADS)
    tasks = [line for line in lines(*BENIGN) if line.kind in TASKS and len(line.text) < 500]
    questions = asked(folder)
    own = [text for line in lines(*PASSAGES) for text in variants(line, 8, rnd)]
    replies = answers(folder)
    texts = passages + own * 4 + rnd.sample(replies, min(len(replies), 6_000))
    rnd.shuffle(texts)
    loose = [part for text in texts[:4_000] for part in sentences_of(text) if 30 < len(part) < 250]
    attacks = [line for line in lines("attacks_en") if line.kind in ("override", "extract_prompt", "tool_abuse")]
    found = []
    for number, text in enumerate(texts):
        held = number % 20 == 0
        text = text[: rnd.choice([300, 600, 900, 1_200])]
        found.append(Example(text, 0, "clean", held))
        if rnd.random() < 0.3:
            found.append(Example(planted(text, chosen(loose, rnd), rnd)[0], 0, "strange sentence", held))
        if rnd.random() < 0.75:
            if rnd.random() < 0.12:
                kind, payload = "question", chosen(questions, rnd)
            else:
                line: Line = rnd.choice(rnd.choices((payloads, tasks, attacks), (0.75, 0.18, 0.07))[0])
                if line.held is not held:
                    continue
                kind, payload = line.kind, variants(line, 1, rnd)[0]
            payload = slipped(payload, rnd) if rnd.random() < 0.05 else payload
            whole, start, end = planted(text, payload, rnd)
            found.append(Example(whole, 1, kind, held, start, end))
    return found


def encoded(examples: list[Example], tokenizer: Tokenizer, prefix: str) -> packed.Weights:
    """Tokens of the examples one after the other, sizes, labels, and which tokens were planted."""
    kinds = sorted({each.kind for each in examples})
    ids, sizes, inside = [], [], []
    for each, read in zip(examples, tokenizer.encode_batch([each.text for each in examples]), strict=True):
        keep = kept(len(read.ids))
        ids.append(np.array(read.ids, np.uint16)[keep])
        sizes.append(len(keep))
        if each.end:
            marked = [start < end and _within(start, end, each) for start, end in read.offsets]
            inside.append(np.array(marked, np.uint8)[keep])
        else:
            inside.append(np.zeros(len(keep), np.uint8))
    return {
        f"{prefix}_ids": np.concatenate(ids),
        f"{prefix}_inside": np.packbits(np.concatenate(inside)),
        f"{prefix}_sizes": np.array(sizes, np.uint16),
        f"{prefix}_labels": np.array([each.label for each in examples], np.uint8),
        f"{prefix}_held": np.array([each.held for each in examples], np.uint8),
        f"{prefix}_kind": np.array([kinds.index(each.kind) for each in examples], np.uint16),
        f"{prefix}_kinds": np.array(kinds),
    }


def _within(start: int, end: int, each: Example) -> bool:
    """Whether a token stands in what was planted; some tokens begin with the space before their word."""
    return end <= each.end and (start >= each.start or (end > each.start and each.text[start : each.start].isspace()))


def kept(count: int) -> np.ndarray:
    """Which tokens of a long text are read: its first two thirds of the room, and its end."""
    if count <= LONGEST:
        return np.arange(count)
    head = LONGEST * 2 // 3
    return np.concatenate([np.arange(head), np.arange(count - (LONGEST - head), count)])


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("data", "docs", "out"):
        parser.add_argument(name, type=Path)
    given = parser.parse_args()
    rnd = random.Random(SEED)
    given.out.mkdir(parents=True, exist_ok=True)
    cache = given.out / "chunks.json"
    if not cache.is_file():
        cache.write_text(json.dumps(list(chunks(given.docs, 24_000, rnd))))
    texts: list[str] = json.loads(cache.read_text())
    print(f"{len(texts)} passages of documentation")
    tokenizer = Tokenizer.from_file(str(pinned_weights().tokenizer))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    arrays: packed.Weights = {}
    for name, examples in (
        ("messages", messages(given.data, texts, rnd)),
        ("passages", documents(given.data, texts, rnd)),
    ):
        rnd.shuffle(examples)
        print(
            name, len(examples), "attacks", sum(each.label for each in examples), "held", sum(e.held for e in examples)
        )
        with (given.out / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(dataclasses.asdict(each)) + "\n" for each in examples)
        arrays |= encoded(examples, tokenizer, name)
    packed.write(given.out / "data.npz.xz", arrays, preset=3)


if __name__ == "__main__":
    main()
