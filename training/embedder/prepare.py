"""Make what train.py learns from: texts and questions as tokens, and the teacher's weights.

    python training/embedder/prepare.py data DIR OUT.npz.xz [--more FOLDER]   (DIR holds rewrite/, mtrag/, doc2dial/)
    python training/embedder/prepare.py teacher MODEL.onnx OUT.npz.xz         (a dynamically quantised BERT)

--more names a folder of unpacked documentation (HTML, text, a WordNet), for breadth. `teacher` needs `onnx`. Run from
the repository's root with it on the path.
"""

from __future__ import annotations

import argparse
import random
import re
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from training import packed
from training.texts import Text, made, passages, rewritten
from turnwise.documents.chunk import chunk
from turnwise.documents.parse import parse
from turnwise.models.folder import QUERY_PREFIX
from turnwise.models.weights import pinned_weights

SEED = 13
KEPT = {"clapnq": 12_707, "cloud": 11_000, "fiqa": 15_480, "govt": 1_700, "doc2dial": 1_400}  # passages of a collection
MADE, REWRITTEN = 60_000, 30_000  # questions
MORE = 24_000  # passages of the other documentation
LONGEST = 300  # tokens of a passage that are kept: a little more than is read
_DIGITS = re.compile(r"^\d{8} \d\d [nvars] [0-9a-f]{2} (\S+) .*? \| (.+)$")


def documentation(folder: Path, rnd: random.Random) -> list[Text]:
    """The passages of HTML and text files as the product cuts them, and the entries of a WordNet."""
    files = [file for kind in ("html", "txt") for file in sorted(folder.rglob(f"*.{kind}"))]
    files = [file for file in files if file.is_file() and 2_000 < file.stat().st_size < 400_000]
    files = [file for file in files if not re.search(r"/(?!en)[a-z]{2}(?:[-_][A-Z]{2})?/", str(file))]
    found: list[Text] = []
    for file in rnd.sample(files, min(len(files), 2_200)):
        try:
            parsed = parse(file)
            chunks = chunk(parsed)
        except Exception as error:  # whatever is wrong with a file: there are others
            print(f"{file.name}: {error}")
            continue
        found += [
            Text(file.parent.name, file.name, " — ".join(filter(None, (parsed.title, each.heading))), each.text)
            for each in chunks
            if len(each.text) > 80
        ]
    for file in sorted(folder.rglob("data.noun")) + sorted(folder.rglob("data.verb")):
        entries = [match for line in file.read_text().splitlines() if (match := _DIGITS.match(line))]
        found += [
            Text("wordnet", match[1], "", f"{match[1].replace('_', ' ')}: {match[2].strip()}")
            for match in rnd.sample(entries, min(len(entries), 4_000))
        ]
    return found


def gather(folder: Path, more: Path | None, rnd: random.Random) -> tuple[list[Text], list[tuple[str, int]]]:
    """The passages, neighbours beside each other, and the questions with the number of their passage (-1: none)."""
    every = passages(folder)
    texts: list[Text] = []
    for name, most in KEPT.items():
        of_it = sorted((each for each in every if each.collection == name), key=lambda each: each.key)
        start = rnd.randrange(max(1, len(of_it) - most))
        texts += of_it[start : start + most]
    if more is not None:
        others = documentation(more, rnd)
        print(f"{len(others)} passages of documentation")
        texts += (
            others[:MORE]
            if len(others) <= MORE
            else [others[at] for at in sorted(rnd.sample(range(len(others)), MORE))]
        )
    asked: list[tuple[str, int]] = []
    for number, text in enumerate(texts):
        questions = list(dict.fromkeys(made(text, rnd)))
        asked += [(question, number) for question in rnd.sample(questions, min(2, len(questions)))]
    asked = rnd.sample(asked, min(MADE, len(asked)))
    told = list(rewritten(folder))
    for question, answer in rnd.sample(told, min(REWRITTEN, len(told))):
        if len(answer.split()) > 12:
            texts.append(Text("answers", question, "", answer))
        asked.append((question, len(texts) - 1 if len(answer.split()) > 12 else -1))
    return texts, asked


def data(folder: Path, out: Path, more: Path | None) -> None:
    rnd = random.Random(SEED)
    texts, asked = gather(folder, more, rnd)
    tokenizer = Tokenizer.from_file(str(pinned_weights().tokenizer))

    def tokens(batch: list[str]) -> list[list[int]]:
        clean = [each.encode("utf-8", "replace").decode("utf-8") for each in batch]
        return [each.ids for each in tokenizer.encode_batch(clean, add_special_tokens=False)]

    titles = [ids[:40] for ids in tokens([each.title for each in texts])]
    bodies = tokens([each.text[:2400] for each in texts])
    held = [[*title, *body[: LONGEST - len(title)]] for title, body in zip(titles, bodies, strict=True)]
    questions = [ids[:64] for ids in tokens([question for question, _ in asked])]
    print(f"{len(held)} passages of {sum(map(len, held))} tokens, {len(questions)} questions", flush=True)
    arrays = {
        "ids": np.array([token for ids in held for token in ids], np.uint16),
        "sizes": np.array([len(ids) for ids in held], np.uint16),
        "titles": np.array([len(ids) for ids in titles], np.uint8),
        "question_ids": np.array([token for ids in questions for token in ids], np.uint16),
        "question_sizes": np.array([len(ids) for ids in questions], np.uint8),
        "sources": np.array([number for _, number in asked], np.int32),
        "prefix": np.array(tokens([QUERY_PREFIX])[0], np.uint16),
    }
    packed.write(out, arrays)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["data", "teacher"])
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--more", type=Path)
    args = parser.parse_args()
    if args.what == "data":
        data(args.source, args.out, args.more)
    else:
        from training import bert_onnx

        packed.write(args.out, bert_onnx.read(args.source))


if __name__ == "__main__":
    main()
