"""The network: a BERT encoder with heads for the message, for every word of the history and for every word asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from turnwise.models.condenser import DISTANCES, EDITS, FACTS

WIDTH, HEADS, INNER, HEAD = 384, 12, 1536, 192
PLACES, PLACE_WIDTH = 2 * DISTANCES, 32


class Layer(nn.Module):
    def __init__(self, dropout: float, inner: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm1 = nn.LayerNorm(WIDTH, eps=1e-12)
        self.inner = nn.Linear(WIDTH, inner)
        self.outer = nn.Linear(inner, WIDTH)
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


@dataclass
class Batch:
    """The inputs, padded: tokens, where the mentions stand, what is known of them, and the tokens of the message."""

    ids: Tensor
    types: Tensor  # 1 in the message
    mask: Tensor
    token: Tensor  # of every mention
    present: Tensor
    place: Tensor
    facts: Tensor
    asked: Tensor  # the tokens of the message
    asked_mask: Tensor


class Condenser(nn.Module):
    """The first `wide` layers read all; the others only the start, the mentions and the message, a third of it."""

    def __init__(self, layers: int, wide: int, dropout: float = 0.1, inner: int = INNER) -> None:
        super().__init__()
        self.words = nn.Embedding(30522, WIDTH)
        self.positions = nn.Embedding(512, WIDTH)
        self.types = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer(dropout, inner) for _ in range(layers))
        self.places = nn.Embedding(PLACES, PLACE_WIDTH)
        self.missing = nn.Sequential(nn.Linear(2 * WIDTH + PLACE_WIDTH + FACTS, HEAD), nn.GELU(), nn.Linear(HEAD, 1))
        self.context = nn.Sequential(nn.Linear(2 * WIDTH, HEAD), nn.GELU(), nn.Linear(HEAD, 2))
        self.edit = nn.Sequential(nn.Linear(2 * WIDTH, HEAD), nn.GELU(), nn.Linear(HEAD, EDITS))
        self.wide = wide
        self.dropout = dropout

    def forward(self, b: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Logits: of needing the context as people judge it and as they rewrite, by example; of being missing, by
        mention; of every edit, by token of the message."""
        x = self.norm(self.words(b.ids) + self.positions.weight[: b.ids.shape[1]] + self.types(b.types))
        x = nn.functional.dropout(x, self.dropout, self.training)
        for layer in self.layers[: self.wide]:
            x = layer(x, b.mask)
        kept = torch.cat([torch.zeros_like(b.token[:, :1]), b.token, b.asked], 1)
        mask = torch.cat([torch.ones_like(b.present[:, :1]), b.present, b.asked_mask], 1)
        x = torch.gather(x, 1, kept[..., None].expand(-1, -1, WIDTH))
        for layer in self.layers[self.wide :]:
            x = layer(x, mask)
        count = b.token.shape[1]
        mention, asked = x[:, 1 : 1 + count], x[:, 1 + count :]
        counted = b.asked_mask[..., None].to(x.dtype)
        message = (asked * counted).sum(1) / counted.sum(1)
        whole = message[:, None]
        known = [mention, whole.expand(-1, count, -1), self.places(b.place).to(x.dtype), b.facts.to(x.dtype)]
        context = self.context(torch.cat([x[:, 0], message], -1))
        missing = self.missing(torch.cat(known, -1))[..., 0]
        edit = self.edit(torch.cat([asked, x[:, :1].expand(-1, asked.shape[1], -1)], -1))
        return context.float(), missing.float(), edit.float()

    @torch.no_grad()
    def narrow(self, batches: Iterable[Batch], inner: int) -> None:
        """Keep so many inner units of each layer: those whose output varies most, as the batches show. What the others
        give on the average goes to the bias."""
        seen: dict[int, list[Tensor]] = {}

        def watch(number: int) -> Callable[..., None]:
            def watched(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
                units = inputs[0].flatten(0, -2).float()
                seen.setdefault(number, []).append(torch.stack([units.mean(0), units.square().mean(0)]))

            return watched

        hooks = [layer.outer.register_forward_pre_hook(watch(number)) for number, layer in enumerate(self.layers)]
        self.eval()
        for batch in batches:
            self(batch)
        for hook in hooks:
            hook.remove()
        for number, layer in enumerate(self.layers):
            mean, square = torch.stack(seen[number]).mean(0)
            worth = (square - mean.square()) * layer.outer.weight.square().sum(0)
            kept = worth.argsort(descending=True)[:inner].sort().values
            lost = mean.clone()
            lost[kept] = 0
            bias = layer.outer.bias + layer.outer.weight @ lost
            smaller = Layer(self.dropout, inner).to(bias.device)
            state = layer.state_dict() | {"outer.weight": layer.outer.weight[:, kept], "outer.bias": bias}
            state |= {"inner.weight": layer.inner.weight[kept], "inner.bias": layer.inner.bias[kept]}
            smaller.load_state_dict(state)
            self.layers[number] = smaller

    @classmethod
    def start(cls, encoder: Path, wide: int, keep: list[int] | None = None, dropout: float = 0.1) -> Condenser:
        """A network that starts from a packed encoder (prepare.py) or a trained network, or some of its layers."""
        bert = unpack(encoder)
        if "words.weight" in bert:
            return cls._trained(bert, wide, keep, dropout)
        layers = keep or list(range(1 + max(int(name.split(".")[2]) for name in bert if "layer." in name)))
        net = cls(len(layers), wide, dropout)
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
    def _trained(cls, state: dict[str, Tensor], wide: int, keep: list[int] | None, dropout: float) -> Condenser:
        layers = keep or sorted({int(name.split(".")[1]) for name in state if name.startswith("layers.")})
        net = cls(len(layers), wide, dropout, len(state["layers.0.inner.bias"]))
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
        if weight.ndim == 2 and weight.size > 50_000 and not name.startswith(("missing", "edit")):
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
