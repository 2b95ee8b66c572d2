"""Train the vectors of word pieces that choose the sentences which the judge reads, and write them with their card.

    python training/matcher/train.py FOLDER [--epochs 3]     (FOLDER gets matcher.npz and matcher.json)

The vectors are projections of the re-ranker's word embeddings, so that pieces which no question here has get good ones
too; with them a weight for each piece is learnt. It learns from the questions about documents of our own
(training/reranker/documents): what answers one is to score above the other statements of its document and some of
another document. Needs `torch`, `scipy` and `onnx`; a minute on a GPU, ten on a processor. Run from the repository's
root with it on the path.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from training import bert_onnx, packed
from training.reranker.prepare import DOCUMENTS, of_document
from turnwise.models.matcher import MAX_BEFORE, MAX_QUESTION, MAX_TEXT, MAX_TITLE
from turnwise.models.weights import OWN, pinned_weights
from turnwise.text import CONTEXT_BAR

VERSION = "2"
WIDTH = 32
OWN_NEGATIVES, OTHERS = 44, 12  # statements of a question's document, with what answers, and of another document
BATCH = 16
RATE = 1e-3
DROPPED = 0.1  # of the pieces, while it learns
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@dataclass(frozen=True, slots=True)
class Document:
    pieces: Tensor  # of each statement, its title, headings and the previous sentence first; 0 where there is none
    kinds: Tensor  # of each piece: 0 of the statement itself, 1 of the title or a heading, 2 of the previous sentence


@dataclass(frozen=True, slots=True)
class Question:
    document: int
    pieces: list[int]
    answers: list[int]  # statements of the document
    partly: list[int]


def gather() -> tuple[list[Document], list[Question]]:
    tokenizer = Tokenizer.from_file(str(pinned_weights().tokenizer))

    def pieces(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False).ids)

    documents: list[Document] = []
    questions: list[Question] = []
    for file in sorted(DOCUMENTS.glob("*.md")):
        stated = of_document(file)
        filled, kinds = [], []
        for heading, statement in stated:
            before, _, own = statement.reading(True).rpartition(CONTEXT_BAR)
            parts = (pieces(own)[:MAX_TEXT], pieces(heading)[:MAX_TITLE], pieces(before)[:MAX_BEFORE])
            found = [(piece, kind) for kind, part in enumerate(parts) for piece in part]
            found += [(0, 0)] * (MAX_TITLE + MAX_BEFORE + MAX_TEXT - len(found))
            filled.append([piece for piece, _ in found])
            kinds.append([kind for _, kind in found])
        for row in map(json.loads, file.with_suffix(".jsonl").read_text().splitlines()):
            answers, partly = (
                [at for at, (_, statement) in enumerate(stated) if statement.text in row[kind]]
                for kind in ("answers", "partly")
            )
            if answers:
                asked = pieces(row["question"])[:MAX_QUESTION]
                questions.append(Question(len(documents), asked, answers, partly))
        documents.append(Document(torch.tensor(filled), torch.tensor(kinds)))
    return documents, questions


class Network(nn.Module):
    def __init__(self, words: Tensor) -> None:
        super().__init__()
        count, width = words.shape
        self.register_buffer("words", words)
        self.alike = nn.Parameter(torch.pca_lowrank(words[1000:], q=WIDTH)[2].clone())  # the first 1,000 are not used
        self.asked, self.told = (nn.Linear(width, WIDTH, bias=False) for _ in range(2))
        self.question_weight, self.sentence_weight = (nn.Linear(width, 1) for _ in range(2))
        self.of_question, self.of_sentence = (nn.Parameter(torch.zeros(count)) for _ in range(2))
        self.title, self.before, self.sharpness, self.whole = (
            nn.Parameter(torch.tensor(value)) for value in (2.0, 0.0, 10.0, 1.0)
        )
        for layer in (self.question_weight, self.sentence_weight):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def vectors(self, ids: Tensor) -> dict[str, Tensor]:
        """What is stored of these pieces, by the names of the file."""
        words = self.words[ids]
        return {
            "alike": functional.normalize(words @ self.alike, dim=-1),
            "asked": self.asked(words) / words.shape[-1] ** 0.5 * self.whole / self.sharpness,
            "told": self.told(words) / words.shape[-1] ** 0.5,
            "question_weights": functional.softplus(self.question_weight(words).squeeze(-1) + self.of_question[ids]),
            "sentence_weights": functional.softplus(self.sentence_weight(words).squeeze(-1) + self.of_sentence[ids]),
        }

    def forward(self, questions: Tensor, sentences: Tensor, kinds: Tensor) -> Tensor:
        """The scores of turnwise/models/matcher.py times `sharpness`, by question and sentence."""
        asked, of_asked = torch.unique(questions, return_inverse=True)
        told, of_told = torch.unique(sentences, return_inverse=True)
        question, sentence = self.vectors(asked), self.vectors(told)
        batch, count, length = sentences.shape
        kept = [(each > 0) & (torch.rand(each.shape, device=DEVICE) > DROPPED) for each in (questions, sentences)]
        worth = torch.stack([torch.ones((), device=DEVICE), *torch.sigmoid(torch.stack([self.title, self.before]))])[
            kinds
        ]

        weights = functional.embedding(of_asked, question["question_weights"][:, None])[..., 0] * kept[0]
        weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-6)
        rows = functional.embedding(of_asked, question["alike"] @ sentence["alike"].T)
        places = of_told.reshape(batch, 1, count * length).expand(batch, questions.shape[1], count * length)
        alike = torch.gather(rows, 2, places).reshape(batch, -1, count, length) * worth[:, None]
        best = alike.masked_fill(~kept[1][:, None], -1.0).max(-1).values
        by_pieces = (weights[..., None] * best).sum(1)

        shares = functional.embedding(of_told, sentence["sentence_weights"][:, None])[..., 0] * kept[1] * worth
        shares = shares / shares.sum(-1, keepdim=True).clamp(min=1e-6)
        bags = torch.zeros(batch, count, len(told), device=DEVICE).scatter_add(2, of_told, shares)
        whole = (weights[..., None] * functional.embedding(of_asked, question["asked"])).sum(1)
        by_whole = torch.einsum("bnu,bu->bn", bags, whole @ sentence["told"].T)
        return self.sharpness * (by_pieces + by_whole)


def word_embeddings() -> Tensor:
    words = packed.plain(bert_onnx.read_own(OWN / "reranker.onnx"), "words.weight")
    words = words / words.std()
    return torch.tensor(words - words.mean(0), dtype=torch.float32)


def train(network: Network, documents: list[Document], questions: list[Question], epochs: int) -> list[float]:
    """Returns the mean loss of each epoch."""
    rnd = random.Random(1)
    single = [network.title, network.before, network.sharpness, network.whole]
    by_piece = [network.of_question, network.of_sentence]
    rest = [each for each in network.parameters() if not any(each is other for other in (*single, *by_piece))]
    rates = [(rest, RATE), (by_piece, 3 * RATE), (single, 10 * RATE)]
    optimizer = torch.optim.Adam([{"params": some, "lr": rate, "first": rate} for some, rate in rates])
    steps, losses = epochs * (len(questions) // BATCH), []
    for epoch in range(epochs):
        rnd.shuffle(questions)
        total = 0.0
        for step in range(len(questions) // BATCH):
            drawn = [draw(each, documents, rnd) for each in questions[step * BATCH : (step + 1) * BATCH]]
            asked = nn.utils.rnn.pad_sequence([torch.tensor(each[0]) for each in drawn], batch_first=True)
            sentences, kinds = (torch.stack([each[at] for each in drawn]).to(DEVICE) for at in (1, 2))
            logs = network(asked.to(DEVICE), sentences, kinds).log_softmax(-1)
            right = torch.arange(logs.shape[1]) < torch.tensor([each[3] for each in drawn])[:, None]
            loss = -logs.masked_fill(~right.to(DEVICE), -1e9).logsumexp(-1).mean()
            for group in optimizer.param_groups:
                group["lr"] = group["first"] * (1 - (epoch * (len(questions) // BATCH) + step) / steps)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        losses.append(round(total / (len(questions) // BATCH), 4))
        print(f"epoch {epoch + 1}: loss {losses[-1]}", flush=True)
    return losses


def draw(question: Question, documents: list[Document], rnd: random.Random) -> tuple[list[int], Tensor, Tensor, int]:
    """A question's pieces, statements with those that answer first, of what kind their pieces are, and how many
    answer."""
    own, other = documents[question.document], rnd.choice(documents)
    answers = question.answers[:4]
    known = {*question.answers, *question.partly}
    wrong = [at for at in range(len(own.pieces)) if at not in known]
    near = [*answers, *rnd.sample(wrong, min(len(wrong), OWN_NEGATIVES - len(answers)))]
    far = [rnd.randrange(len(other.pieces)) for _ in range(OWN_NEGATIVES + OTHERS - len(near))]
    pieces, kinds = (torch.cat([getattr(own, name)[near], getattr(other, name)[far]]) for name in ("pieces", "kinds"))
    return question.pieces, pieces, kinds, len(answers)


def export(network: Network, folder: Path, card: dict[str, object]) -> None:
    with torch.no_grad():
        vectors = network.vectors(torch.arange(len(network.words), device=DEVICE))
    arrays: dict[str, np.ndarray] = {}
    for name, values in ((name, each.float().cpu().numpy()) for name, each in vectors.items()):
        if values.ndim == 1:
            arrays[name] = values.astype(np.float16)
            continue
        scale = np.abs(values).max(1) / 127 + 1e-9
        arrays |= {name: np.round(values / scale[:, None]).astype(np.int8), f"{name}_scale": scale.astype(np.float16)}
    arrays["title_weight"] = np.float32(torch.sigmoid(network.title).item())
    arrays["before_weight"] = np.float32(torch.sigmoid(network.before).item())
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / "matcher.npz", **arrays)
    digest = hashlib.sha256((folder / "matcher.npz").read_bytes()).hexdigest()
    (folder / "matcher.json").write_text(json.dumps({"version": VERSION, "sha256": digest} | card, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    torch.manual_seed(1)
    documents, questions = gather()
    network = Network(word_embeddings()).to(DEVICE)
    losses = train(network, documents, questions, args.epochs)
    export(network, args.folder, {"width": WIDTH, "questions": len(questions), "losses": losses})


if __name__ == "__main__":
    main()
