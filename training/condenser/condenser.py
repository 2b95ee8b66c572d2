"""Which words of the conversation a message leaves out: one pass of an encoder that can only point at what was said."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from turnwise.errors import WeightsError
from turnwise.models.weights import pinned_weights, sha256
from turnwise.text import is_content, is_specific, stem

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from turnwise.types import Message

FOLDER = Path(__file__).parent / "data"
LONGEST = 128  # tokens of one input, as in training
LONGEST_MESSAGE = 56  # of them, of the message
RECENT = 20  # messages of the history that are looked at, besides the first question
LONGEST_TEXT = 1200  # characters of a message that are looked at
# Tokens kept of a message of the history: of a question, of the last answer, of an answer before it.
KEPT_QUESTION, KEPT_LAST_ANSWER, KEPT_ANSWER = 40, 64, 32
OPENING_LAST_ANSWER, OPENING_ANSWER = 28, 0  # of these, in one piece; the rest are single words
DISTANCES = 8  # how many messages ago a word was said; the last stands for all before it
FACTS = 10  # what is known of a word besides its place
READ_MESSAGES = 512  # messages whose tokens are remembered

_CLS, _SEP, _USER, _ASSISTANT = 101, 102, 1, 2  # of bert-base-uncased; the roles are its first two unused tokens
_WORD = re.compile(r"([^\W_]+)(?:['’][^\W_]+)?")  # a word, and in group 1 what counts of it, as in turnwise.text
_OPENS = re.compile(r"(?:^|[.!?:;\"“(\n])\s*$")  # what a capital letter says nothing after


class Prediction(NamedTuple):
    """How likely the message needs its context, and the words said before that it may leave out, likeliest first."""

    needs_context: float
    terms: tuple[tuple[str, float], ...]  # the word as it was said, and how likely it is missing


class Word(NamedTuple):
    """A content word of a message."""

    token: int  # its first token
    size: int  # how many tokens it has
    text: str
    stem: str
    name: bool  # written with a capital letter inside a sentence


class Said(NamedTuple):
    """A message, read."""

    ids: list[int]
    words: list[Word]


class Mention(NamedTuple):
    """A place in the input where a word stands that the message may leave out."""

    token: int
    text: str
    stem: str


@dataclass(frozen=True, slots=True)
class Layout:
    """The input of the encoder: [CLS] the history in order, each message after its role [SEP] the message [SEP]."""

    ids: list[int]
    message_at: int  # the message's first token
    places: list[int]  # by token: role and distance
    mentions: list[Mention]
    facts: dict[str, list[int]]  # by stem, FACTS of 0 or 1


def reader(tokenizer: Tokenizer) -> Callable[[str], Said]:
    """A function that reads a message with the tokenizer."""

    def read(text: str) -> Said:
        text = text[:LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")  # a lone surrogate makes it raise
        encoded = tokenizer.encode(text, add_special_tokens=False)
        starts = {start: index for index, (start, _) in reversed(list(enumerate(encoded.offsets)))}
        ends = {end: index for index, (_, end) in enumerate(encoded.offsets)}
        found = []
        for match in _WORD.finditer(text):
            word, start = match[1], match.start()
            if is_content(word) and start in starts and match.end(1) in ends:
                name = word[0].isupper() and not _OPENS.search(text[max(0, start - 8) : start])
                size = ends[match.end(1)] + 1 - starts[start]
                found.append(Word(starts[start], size, word, stem(word), name))
        return Said(encoded.ids, found)

    return read


def lay_out(message: str, history: Sequence[Message], read: Callable[[str], Said]) -> Layout:
    """What the encoder reads of a conversation: bounded, whatever its length."""
    seen = _window(history)
    said = [read(each.content) for each in seen]
    asked = read(message)
    own = {word.stem for word in asked.words}
    question = asked.ids[:LONGEST_MESSAGE]
    kept = _kept(seen, said, own, LONGEST - 3 - len(question))
    ids, places, mentions = [_CLS], [0], []
    for index, tokens in sorted(kept.items()):
        user = seen[index].role == "user"
        place = min(len(seen) - 1 - index, DISTANCES - 1) + (0 if user else DISTANCES)
        ids.append(_USER if user else _ASSISTANT)
        at = {token: len(ids) + offset for offset, token in enumerate(tokens)}
        ids += [said[index].ids[token] for token in tokens]
        places += [place] * (len(tokens) + 1)
        mentions += [
            Mention(at[word.token], word.text, word.stem)
            for word in said[index].words
            if word.token in at and word.stem not in own
        ]
    ids += [_SEP, *question, _SEP]
    places += [0] * (len(ids) - len(places))
    return Layout(ids, len(ids) - 1 - len(question), places, mentions, _facts(seen, said))


def _window(history: Sequence[Message]) -> list[Message]:
    recent = list(history[-RECENT:])
    first = next((each for each in history if each.role == "user"), None)
    return recent if first is None or any(each is first for each in recent) else [first, *recent]


def _kept(seen: Sequence[Message], said: Sequence[Said], own: set[str], budget: int) -> dict[int, list[int]]:
    """Which tokens of which messages fit: the last exchange first, then the questions, then earlier answers.

    An answer is kept as it opens, and of the rest only content words that were not kept before.
    """
    last = len(seen) - 1
    questions = [index for index in range(last, -1, -1) if seen[index].role == "user"]
    answers = [index for index in range(last, -1, -1) if seen[index].role != "user"]
    latest = [index for index in answers if index == last]
    kept: dict[int, list[int]] = {}
    known = set(own)
    for index in dict.fromkeys([*questions[:1], *latest, *questions[-1:], *questions[1:-1], *answers]):
        user = seen[index].role == "user"
        most = KEPT_QUESTION if user else KEPT_LAST_ANSWER if index == last else KEPT_ANSWER
        opening = most if user else OPENING_LAST_ANSWER if index == last else OPENING_ANSWER
        most, size = min(most, budget - 1), len(said[index].ids)
        if most < 3:
            break
        tokens = list(range(min(size, opening, most)))
        known.update(word.stem for word in said[index].words if word.token < len(tokens))
        if not user:
            for word in said[index].words:
                if word.token >= opening and word.stem not in known and len(tokens) + word.size <= most:
                    tokens += range(word.token, word.token + word.size)
                    known.add(word.stem)
        kept[index] = tokens
        budget -= len(tokens) + 1
    return kept


def _facts(seen: Sequence[Message], said: Sequence[Said]) -> dict[str, list[int]]:
    questions = [index for index, each in enumerate(seen) if each.role == "user"]
    asked: dict[str, set[int]] = {}
    answered: dict[str, set[int]] = {}
    spelled: dict[str, tuple[str, bool]] = {}
    for index, each in enumerate(said):
        where = asked if seen[index].role == "user" else answered
        for word in each.words:
            where.setdefault(word.stem, set()).add(index)
            spelled[word.stem] = (word.text, word.name or spelled.get(word.stem, ("", False))[1])
    facts = {}
    for key, (text, name) in spelled.items():
        inside, answers = asked.get(key, set()), answered.get(key, set())
        facts[key] = [
            int(fact)
            for fact in (
                name,
                text.isdigit() or (len(text) > 1 and text.isupper()),
                bool(questions) and questions[0] in inside,
                bool(questions) and questions[-1] in inside,
                len(questions) > 1 and questions[-2] in inside,
                len(seen) - 1 in answers,
                len(inside) > 1,
                len(answers) > 1,
                is_specific(text),
                bool(inside and answers),
            )
        ]
    return facts


class OnnxCondenser:
    """The condenser that comes with the package, read at the first message; safe to use from several threads."""

    def __init__(self, folder: Path = FOLDER, threads: int = 0) -> None:
        self._folder = folder
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: _Model | None = None

    @property
    def thresholds(self) -> dict[str, float]:
        """From which probabilities on: `needs_context` a message is a follow-up, `change` it may be changed, and
        `term` a word counts as missing."""
        return self._model().thresholds

    def predict(self, message: str, history: Sequence[Message]) -> Prediction:
        return self._model().predict(message, history)

    def chosen(self, prediction: Prediction) -> tuple[str, ...]:
        """The words to add: none where the message may stand alone."""
        thresholds = self.thresholds
        if prediction.needs_context < thresholds["change"]:
            return ()
        return tuple(word for word, probability in prediction.terms if probability >= thresholds["term"])

    def _model(self) -> _Model:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._folder, self._threads)
            return self._loaded


class _Model:
    def __init__(self, tokenizer: Tokenizer, session: Any, thresholds: dict[str, float]) -> None:
        self._read = lru_cache(READ_MESSAGES)(reader(tokenizer))
        self._session = session
        self.thresholds = thresholds

    def predict(self, message: str, history: Sequence[Message]) -> Prediction:
        if not history:
            return Prediction(0.0, ())
        layout = lay_out(message, history, self._read)
        context, missing = self._session.run(None, feed(layout))
        likely: dict[str, tuple[float, str]] = {}
        for mention in layout.mentions:
            probability = _probability(missing[0, mention.token])
            if probability > likely.get(mention.stem, (0.0, ""))[0]:
                likely[mention.stem] = (probability, mention.text)
        ranked = sorted(likely.values(), key=lambda each: -each[0])
        return Prediction(_probability(context[0]), tuple((word, probability) for probability, word in ranked))


def feed(layout: Layout) -> dict[str, npt.NDArray[Any]]:
    """The inputs of the ONNX graph, as a batch of one."""
    size = len(layout.ids)
    facts = np.zeros((1, size, FACTS), dtype=np.float32)
    for mention in layout.mentions:
        facts[0, mention.token] = layout.facts[mention.stem]
    types = np.zeros((1, size), dtype=np.int64)
    types[0, layout.message_at :] = 1
    return {
        "ids": np.array([layout.ids], dtype=np.int64),
        "types": types,
        "places": np.array([layout.places], dtype=np.int64),
        "facts": facts,
    }


def _probability(logit: float) -> float:
    return float(1 / (1 + np.exp(-np.float64(logit))))


def _load(folder: Path, threads: int) -> _Model:
    import onnxruntime
    from tokenizers import Tokenizer

    hint = "Install turnwise again: its condenser belongs to the package."
    try:
        card = json.loads((folder / "condenser.json").read_text(encoding="utf-8"))
        if sha256(folder / "condenser.onnx") != card["sha256"]:
            raise WeightsError(f"{folder / 'condenser.onnx'} is not the file that its card names.", hint)
    except (OSError, ValueError, KeyError) as error:
        raise WeightsError(f"The condenser in {folder} cannot be read: {error}", hint) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads would eat a core
    tokenizer = Tokenizer.from_file(str(pinned_weights().tokenizer))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    try:
        session = onnxruntime.InferenceSession(folder / "condenser.onnx", options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises bare exceptions of its own
        raise WeightsError(f"The condenser in {folder} cannot be loaded: {error}", hint) from error
    return _Model(tokenizer, session, {name: float(value) for name, value in card["thresholds"].items()})
