"""BERT encoders in torch whose upper layers may compute a part of the tokens only, and their weights on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from training.packed import Weights, by_row, compressed, plain

WIDTH, HEADS, INNER, WORDS, POSITIONS = 384, 12, 1536, 30522, 512
PART = 15 * 2**20  # bytes of a file of weights


@dataclass(frozen=True)
class Shape:
    """By layer: what it computes ("all" tokens, those at the "front", the "first"), how wide it is inside, and which
    layer of the teacher it starts as."""

    reach: tuple[str, ...]
    inner: tuple[int, ...]
    start: tuple[int, ...]

    @classmethod
    def read(cls, text: str) -> Shape:
        """Of "all:768:0,front:1536:8,first:1536:11"."""
        reach, inner, start = zip(*(each.split(":") for each in text.split(",")), strict=True)
        return cls(reach, tuple(map(int, inner)), tuple(map(int, start)))


class Layer(nn.Module):
    def __init__(self, inner: int, dropout: float) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm1 = nn.LayerNorm(WIDTH, eps=1e-12)
        self.inner = nn.Linear(WIDTH, inner)
        self.outer = nn.Linear(inner, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH, eps=1e-12)
        self.dropout = dropout
        self.busy: Tensor | None = None  # how much each inner unit says, where that is asked for

    def forward(self, x: Tensor, mask: Tensor, count: int | None = None) -> Tensor:
        """The new states of the first `count` tokens (of all, without it); they read all tokens in the mask."""
        now = x[:, :count]
        if count is None:
            query, key, value = (self._heads(each) for each in self.qkv(x).chunk(3, -1))
        else:
            query = self._heads(nn.functional.linear(now, self.qkv.weight[:WIDTH], self.qkv.bias[:WIDTH]))
            both = nn.functional.linear(x, self.qkv.weight[WIDTH:], self.qkv.bias[WIDTH:])
            key, value = (self._heads(each) for each in both.chunk(2, -1))
        y = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None])
        y = self.out(y.transpose(1, 2).reshape(now.shape))
        now = self.norm1(now + nn.functional.dropout(y, self.dropout, self.training))
        y = nn.functional.gelu(self.inner(now), approximate="tanh")
        if self.busy is not None:
            self.busy += (y.float().abs() * mask[:, : y.shape[1], None]).sum((0, 1))
        return self.norm2(now + nn.functional.dropout(self.outer(y), self.dropout, self.training))

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], HEADS, WIDTH // HEADS).transpose(1, 2)


class Encoder(nn.Module):
    """The state of the first token; with a head, the scores that are made of it."""

    def __init__(self, shape: Shape, scores: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(WORDS, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.types = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer(inner, dropout) for inner in shape.inner)
        self.dropout = dropout
        if scores:
            self.pooler, self.head = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, scores)

    def forward(self, ids: Tensor, mask: Tensor, front: Tensor | None = None) -> Tensor:
        """`front` is how many tokens stand at the front of each row; those after them are of the second type."""
        place = torch.arange(ids.shape[1], device=ids.device)
        ahead = torch.ones_like(mask) if front is None else place < front[:, None]
        x = self.words(ids) + self.positions.weight[: ids.shape[1]] + self.types((~ahead & mask).long())
        x = nn.functional.dropout(self.norm(x), self.dropout, self.training)
        fronts = int(front.max()) if front is not None else 0
        for layer, reach in zip(self.layers, self.shape.reach, strict=True):
            if reach == "all":
                x = layer(x, mask)
            elif reach == "first":
                x = layer(x, mask, 1)
            else:  # a row with fewer at the front than another keeps the others as they are
                new = torch.where(ahead[:, :fronts, None], layer(x, mask, fronts), x[:, :fronts])
                x = torch.cat([new, x[:, fronts:]], 1)
        first = x[:, 0]
        if not hasattr(self, "head"):
            return first.float()
        return self.head(torch.tanh(self.pooler(first))).float()


def whole(weights: Weights) -> Shape:
    """The shape of a teacher: every layer computes all."""
    count = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))
    return Shape(("all",) * count, (INNER,) * count, tuple(range(count)))


def teacher(weights: Weights) -> Encoder:
    net = Encoder(whole(weights), len(weights.get("head.bias", ())))
    net.load_state_dict({name: torch.from_numpy(plain(weights, name)) for name in net.state_dict()})
    return net.eval().requires_grad_(False)


def student(shape: Shape, of: Encoder, busy: Sequence[Tensor], dropout: float) -> Encoder:
    """A network that starts as some layers of a teacher, with those inner units that said most there."""
    net = Encoder(shape, of.head.out_features if hasattr(of, "head") else 0, dropout)
    state = {name: value for name, value in of.state_dict().items() if not name.startswith("layers.")}
    for number, (source, inner) in enumerate(zip(shape.start, shape.inner, strict=True)):
        layer = of.layers[source]
        said = busy[source] * layer.outer.weight.norm(dim=0)
        kept = said.topk(inner).indices.sort().values
        for name, value in layer.state_dict().items():
            if name.startswith("inner."):
                value = value[kept]
            elif name == "outer.weight":
                value = value[:, kept]
            state[f"layers.{number}.{name}"] = value
    net.load_state_dict(state)
    return net


@torch.no_grad()
def listen(net: Encoder, batches: Sequence[tuple[Tensor, ...]]) -> list[Tensor]:
    """How much the inner units of each layer say on some inputs."""
    for layer in net.layers:
        layer.busy = torch.zeros(layer.inner.out_features, device=layer.inner.weight.device)
    for batch in batches:
        net(*batch)
    heard = [layer.busy for layer in net.layers]
    for layer in net.layers:
        layer.busy = None
    return heard


# --- on disk -----------------------------------------------------------------------------------------------------


def pack(net: Encoder) -> Weights:
    """The weights, matrices as int8 by row with a scale: what export.py writes into the graph."""
    packed: Weights = {}
    for name, tensor in net.state_dict().items():
        weight = tensor.detach().float().cpu().numpy()
        if weight.ndim == 2 and not name.startswith(("types", "positions", "head")):
            packed |= zip((f"{name}|values", f"{name}|scale", f"{name}|zero"), by_row(weight), strict=True)
        else:
            packed[name] = weight.astype(np.float16 if name.startswith("positions") else np.float32)
    return packed


def save(weights: Weights, shape: Shape, folder: Path, name: str, record: dict[str, object]) -> None:
    """NAME.npz.xz.0, .1...: parts of one file, and NAME.json with the shape and what is known of the run."""
    whole_file = compressed(weights, 2)
    for number, start in enumerate(range(0, len(whole_file), PART)):
        (folder / f"{name}.npz.xz.{number}").write_bytes(whole_file[start : start + PART])
    (folder / f"{name}.json").write_text(json.dumps({"shape": asdict(shape)} | record, indent=1) + "\n")
