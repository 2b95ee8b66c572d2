"""The network: a BERT encoder with a head for the message and a head for every word of the history."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

WIDTH, HEADS, INNER, HEAD = 384, 12, 1536, 192
PLACES, FACTS, PLACE_WIDTH = 16, 10, 32


class Layer(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm1 = nn.LayerNorm(WIDTH, eps=1e-12)
        self.inner = nn.Linear(WIDTH, INNER)
        self.outer = nn.Linear(INNER, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH, eps=1e-12)
        self.dropout = dropout

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, size, _ = x.shape
        query, key, value = self.qkv(x).view(batch, size, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        dropout = self.dropout if self.training else 0.0
        y = nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask[:, None, None], dropout_p=dropout
        )
        y = self.out(y.transpose(1, 2).reshape(batch, size, WIDTH))
        x = self.norm1(x + nn.functional.dropout(y, self.dropout, self.training))
        y = self.outer(nn.functional.gelu(self.inner(x)))
        return self.norm2(x + nn.functional.dropout(y, self.dropout, self.training))


class Condenser(nn.Module):
    """`types` is 1 in the message; `token` says where the mentions of words of the history stand."""

    def __init__(self, layers: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.words = nn.Embedding(30522, WIDTH)
        self.positions = nn.Embedding(512, WIDTH)
        self.types = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(layers))
        self.places = nn.Embedding(PLACES, PLACE_WIDTH)
        self.missing = nn.Sequential(nn.Linear(2 * WIDTH + PLACE_WIDTH + FACTS, HEAD), nn.GELU(), nn.Linear(HEAD, 1))
        self.context = nn.Sequential(nn.Linear(2 * WIDTH, HEAD), nn.GELU(), nn.Linear(HEAD, 1))
        self.dropout = dropout

    def encode(self, ids: Tensor, types: Tensor, mask: Tensor) -> list[Tensor]:
        """What every layer makes of the input."""
        x = self.norm(self.words(ids) + self.positions.weight[: ids.shape[1]] + self.types(types))
        x = nn.functional.dropout(x, self.dropout, self.training)
        states = []
        for layer in self.layers:
            x = layer(x, mask)
            states.append(x)
        return states

    def decide(
        self, x: Tensor, types: Tensor, mask: Tensor, token: Tensor, place: Tensor, facts: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Logits: of needing the context, by example; of being missing, by mention."""
        asked = (types * mask)[..., None].to(x.dtype)
        message = (x * asked).sum(1) / asked.sum(1)
        mention = torch.gather(x, 1, token[..., None].expand(-1, -1, WIDTH))
        whole = message[:, None].expand(-1, token.shape[1], -1)
        known = torch.cat([mention, whole, self.places(place).to(x.dtype), facts.to(x.dtype)], -1)
        context = self.context(torch.cat([x[:, 0], message], -1))[:, 0]
        return context.float(), self.missing(known)[..., 0].float()

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor, *mentions: Tensor) -> tuple[Tensor, Tensor]:
        return self.decide(self.encode(ids, types, mask)[-1], types, mask, *mentions)

    @classmethod
    def start(cls, encoder: Path, keep: list[int] | None = None, dropout: float = 0.1) -> Condenser:
        """A network that starts from a packed encoder (prepare.py) or a trained network, or some of its layers."""
        bert = unpack(encoder)
        if "words.weight" in bert:
            return cls._trained(bert, keep, dropout)
        layers = keep or list(range(1 + max(int(name.split(".")[2]) for name in bert if "layer." in name)))
        net = cls(len(layers), dropout)
        state = net.state_dict()
        for mine, theirs in (("words", "word"), ("positions", "position"), ("types", "token_type")):
            state[f"{mine}.weight"] = bert[f"embeddings.{theirs}_embeddings.weight"]
        parts = {"out": "attention.output.dense", "norm1": "attention.output.LayerNorm", "inner": "intermediate.dense"}
        parts |= {"outer": "output.dense", "norm2": "output.LayerNorm"}
        for kind in ("weight", "bias"):
            state[f"norm.{kind}"] = bert[f"embeddings.LayerNorm.{kind}"]
            for number, source in enumerate(layers):
                old = f"encoder.layer.{source}"
                for mine, theirs in parts.items():
                    state[f"layers.{number}.{mine}.{kind}"] = bert[f"{old}.{theirs}.{kind}"]
                qkv = [bert[f"{old}.attention.self.{name}.{kind}"] for name in ("query", "key", "value")]
                state[f"layers.{number}.qkv.{kind}"] = torch.cat(qkv)
        net.load_state_dict(state)
        return net

    @classmethod
    def _trained(cls, state: dict[str, Tensor], keep: list[int] | None, dropout: float) -> Condenser:
        layers = keep or sorted({int(name.split(".")[1]) for name in state if name.startswith("layers.")})
        net = cls(len(layers), dropout)
        chosen = {name: value for name, value in state.items() if not name.startswith("layers.")}
        for name in net.state_dict():
            if name.startswith("layers."):
                _, number, rest = name.split(".", 2)
                chosen[name] = state[f"layers.{layers[int(number)]}.{rest}"]
        net.load_state_dict(chosen)
        return net


def pack(net: Condenser, file: Path) -> None:
    """Save the weights, matrices as int8 by row with a scale."""
    packed: dict[str, np.ndarray] = {}
    for name, tensor in net.state_dict().items():
        weight = tensor.detach().float().cpu().numpy()
        if weight.ndim == 2 and weight.size > 50_000 and not name.startswith("missing"):
            scale = np.abs(weight).max(1, keepdims=True) / 127 + 1e-12
            packed[f"{name}|int8"] = np.round(weight / scale).astype(np.int8)
            packed[f"{name}|scale"] = scale.astype(np.float32)
        else:
            packed[name] = weight
    np.savez(file, **packed)


def unpack(file: Path) -> dict[str, Tensor]:
    with np.load(file) as packed:
        weights = {name: packed[name] for name in packed.files if "|" not in name}
        for name in packed.files:
            if name.endswith("|int8"):
                plain = name.removesuffix("|int8")
                weights[plain] = packed[name].astype(np.float32) * packed[f"{plain}|scale"]
    return {name: torch.from_numpy(weight) for name, weight in weights.items()}
