"""How close the token estimate is to real vocabularies, on documents and on code.

    python benchmarks/tokens.py [tokenizer.json ...] [--texts FOLDER]

Without a file, it is compared with the embedder's vocabulary (BERT's).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import mean

from tokenizers import Tokenizer

import turnwise
from turnwise.dialogue.tokens import tokens
from turnwise.models.weights import pinned_weights

PACKAGE = Path(turnwise.__file__).parent
KINDS = ("*.md", "*.txt", "*.html", "*.py", "*.js", "*.toml")
SIZE = 800  # characters per piece


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vocabularies", nargs="*", type=Path, default=[pinned_weights().tokenizer])
    parser.add_argument("--texts", type=Path, default=PACKAGE, help="folder whose texts are counted")
    given = parser.parse_args()
    print(f"{'estimate / tokens':32} {'texts':6} {'pieces':>6} {'least':>6} {'p5':>6} {'mean':>6} {'under':>6}")
    for vocabulary in given.vocabularies:
        tokenizer = Tokenizer.from_file(str(vocabulary))
        tokenizer.no_truncation()
        for kind in KINDS:
            texts = pieces(given.texts, kind)
            shares = sorted(
                tokens(text) / max(1, len(tokenizer.encode(text, add_special_tokens=False))) for text in texts
            )
            if shares:
                under = sum(share < 1 for share in shares) / len(shares)
                figures = (shares[0], shares[len(shares) // 20], mean(shares))
                shown = " ".join(f"{figure:6.2f}" for figure in figures)
                print(f"{vocabulary.parent.name[:32]:32} {kind:6} {len(shares):6} {shown} {under:6.1%}")
    print_speed(given.texts)


def pieces(folder: Path, pattern: str) -> list[str]:
    texts = (path.read_text(encoding="utf-8") for path in sorted(folder.rglob(pattern)))
    return [text[at : at + SIZE] for text in texts for at in range(0, len(text) - SIZE, SIZE)]


def print_speed(folder: Path) -> None:
    text = "".join(pieces(folder, "*.md"))
    begin = time.perf_counter()
    tokens.__wrapped__(text)
    print(f"\n{len(text) / 1e6 / (time.perf_counter() - begin):.1f} million characters per second")


if __name__ == "__main__":
    main()
