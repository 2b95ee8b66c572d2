"""The grammar of sums: parses text into a tree. Nothing is evaluated here.

A sum is a tree of operations on numbers, each with its unit as written; "that" is a number from the conversation.
The length of a text, the nesting and the size of numbers are limited, so that parsing time is bounded.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
MAX_SUM_CHARS = 300
MAX_DIGITS = 60  # of a number
MAX_POWER_OF_TEN = 4000  # in 1e4000: more than can be evaluated, but still cheap to hold
MAX_TOKENS = 120  # numbers, signs and words of a sum
MAX_DEPTH = 40  # nested brackets
DECIMAL_COMMA_LANGUAGES = ("de", "fr", "es", "pt")  # they write 0,5


@dataclass(frozen=True, slots=True)
class Number:
    value: Fraction
    unit: str = ""  # as written: "km/h", "$"
    name: str = ""  # "half"


@dataclass(frozen=True, slots=True)
class That:
    """A number from the conversation."""


@dataclass(frozen=True, slots=True)
class Operation:
    """`name` is a sign (+ - * / ^ % ! √ ∛ mod of), or: neg, to (convert to `unit`), share (the first as a percentage of
    the second), change (from the first to the second, in per cent)."""

    name: str
    parts: tuple[Node, ...]
    unit: str = ""


Node = Number | That | Operation


def nodes(tree: Node) -> Iterator[Node]:
    yield tree
    if isinstance(tree, Operation):
        for part in tree.parts:
            yield from nodes(part)


class NoSum(ValueError):
    """The text is not a sum."""


# --- the words ----------------------------------------------------------------------------------------------------

_TABLES = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))
_MAX_SYMBOL_CHARS = 3  # of a unit symbol, where case matters


def _by_word(table: str) -> dict[str, str]:
    return {word: meaning for meaning, words in _TABLES[table].items() for word in words}


WORDS, CURRENCIES, UNITS = _by_word("words"), _by_word("currencies"), _by_word("units")
FRACTIONS = {word: Fraction(value) for word, value in _by_word("fractions").items()}
SCALES = {word: int(value) for word, value in _by_word("scales").items()}
_NAMES = {Fraction(value): words[0].removesuffix(" of") for value, words in _TABLES["fractions"].items()}
_OVER = re.compile(r"\s?/\s?|\s?\bper\s", re.I)
_POWER = re.compile(r"\^([23])(?!\d)")
_SQUARE = re.compile(r"(square|sq\.?|cubic|cu\.?)\s", re.I)


def _longest_of(words: Sequence[str], flags: int = re.I) -> re.Pattern[str]:
    """A pattern for the longest of these words, matched as a whole word if its script puts spaces between words."""
    ordered = sorted(words, key=lambda word: -len(word))
    ends = (re.escape(word) + (r"(?![^\W\d_])" if re.search(r"[A-Za-zÀ-ÿ]$", word) else "") for word in ordered)
    return re.compile("|".join(ends), flags)


_WORD = _longest_of([*WORDS])
_FRACTION = _longest_of([*FRACTIONS])
_SCALE = _longest_of([*SCALES])
_CURRENCY = _longest_of([*CURRENCIES])
_UNIT = _longest_of([*UNITS], 0)
_UNIT_WORD = _longest_of([word for word in UNITS if len(word) > _MAX_SYMBOL_CHARS])
_SYMBOL = re.compile(r"[A-Za-z]{2,3}(?!\w)")
_OTHER_UNIT = re.compile(r"[A-Za-zμ]{2,30}(?!\w)")
_UNIT_BEFORE_TO = re.compile(r"[A-Za-zμ]{2,30}(?= (?:to|in|into) )")

_NUMBER = re.compile(r"(?:\d{1,3}(?:[ '’]\d{3})+(?![\d])(?:[.,]\d+)?|\d[\d.,]*\d|\d|[.,]\d+)(?:[eE][+-]?\d+)?")
_PLAIN = re.compile(r"0|[1-9]\d*")
_PENCE = re.compile(r"(?<!\d\d\d)(?<=\d)p(?![^\W_])| ?(?:pence|penny)(?!\w)", re.I)  # 50p, but not the lines of 720p
_SIGNS = str.maketrans({"²": "^2", "³": "^3", "−": "-", "–": "-", "—": "-", "×": "*", "·": "*", "⋅": "*", "÷": "/"})
_VULGAR = re.compile(r"(\d{0,9})\s?([½⅓⅔¼¾⅕⅛])")


def normalize(text: str) -> str:
    """The text on one line, with one variant of each sign and without end punctuation."""
    text = _VULGAR.sub(
        lambda found: f"({found[1] or 0}+{Fraction(unicodedata.numeric(found[2])).limit_denominator(9)})", text
    )
    return " ".join(unicodedata.normalize("NFKC", text.translate(_SIGNS)).split()).strip(" ?¿¡.=。、：:;")


def to_number(text: str, code: str) -> Fraction | None:
    """The value of a number as written in a language: 1,500 is more in English than in German. None for a version or an
    address."""
    digits, _, power = re.sub("[ '’]", "", text).lower().partition("e")
    if len(digits) > MAX_DIGITS or len(power) > 4:
        return None
    thousands = "." if code in DECIMAL_COMMA_LANGUAGES else ","
    marks = re.findall("[.,]", digits)
    decimal = ""
    if len(set(marks)) == 2:
        decimal = marks[-1]
    elif len(marks) == 1 and not (marks[0] == thousands and re.fullmatch(r"[1-9]\d{0,2}.\d{3}", digits)):
        decimal = marks[0]
    whole, _, part = digits.rpartition(decimal) if decimal else (digits, "", "")
    grouped = re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d{0,2}(?:\.\d{3})+", whole)
    whole = re.sub("[.,]", "", whole) if grouped else whole or "0"
    if not _PLAIN.fullmatch(whole):
        return None
    return Fraction(int(whole + part), 10 ** len(part)) * Fraction(10) ** max(
        -MAX_POWER_OF_TEN, min(MAX_POWER_OF_TEN, int(power or 0))
    )


# --- the grammar --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # number, or a key of the words
    number: Number | None = None
    unit: str = ""  # after "to"
    tight: bool = False  # a sign without spaces around it: 24/7, 555-1234, 4x4


def unit_name(text: str) -> str:
    """Pint's name for a unit ("km/h": "kilometer/hour"), or "" if a part of it is unknown."""
    names = []
    for place, part in enumerate(_OVER.split(text)):
        squared = _SQUARE.match(part)
        power = _POWER.search(part)
        atom = part[squared.end() :] if squared else _POWER.sub("", part)
        name = (
            UNITS.get(atom)
            or UNITS.get(atom.lower() if len(atom) > _MAX_SYMBOL_CHARS else atom)
            or _unit_in_any_case(atom)
        )
        if not name:
            return ""
        exponent = power[1] if power else {"s": "2", "c": "3"}[squared[1][0].lower()] if squared else ""
        names.append(("/" if place else "") + f"({name})" + (f"**{exponent}" if exponent else ""))
    return "".join(names)


def _unit_in_any_case(atom: str) -> str:
    """The unit that KM or Kg means, or "" if it could be several."""
    meant = {name for spoken, name in UNITS.items() if len(atom) > 1 and spoken.lower() == atom.lower()}
    return meant.pop() if len(meant) == 1 else ""


def _unit_end(text: str, at: int) -> int:
    """The end of the unit that begins at `at`, or `at` if there is none. A slash without a unit after it divides."""
    end = begin = at
    while True:
        squared = _SQUARE.match(text, begin)
        begin = squared.end() if squared else begin
        found = _UNIT.match(text, begin) or _UNIT_WORD.match(text, begin) or _SYMBOL.match(text, begin)
        if found is None or not (found[0] in UNITS or found[0].lower() in UNITS or _unit_in_any_case(found[0])):
            return end
        power = _POWER.match(text, found.end())
        end = power.end() if power else found.end()
        over = _OVER.match(text, end)
        if over is None:
            return end
        begin = over.end()


def _meaning(table: Mapping[str, T], found: re.Match[str]) -> T:
    """Look up a matched word. Case-insensitive patterns also match other letters (ı for i): such a word is refused."""
    meaning = table.get(found[0].lower())
    if meaning is None:
        raise NoSum(found[0])
    return meaning


class Tokens:
    """Splits a text into tokens, from left to right."""

    def __init__(self, text: str, code: str) -> None:
        self._text, self._code, self._at = text, code, 0
        self.tokens: list[_Token] = []
        while self._at < len(text):
            if len(self.tokens) > MAX_TOKENS:
                raise NoSum("too long")
            if text[self._at] == " ":
                self._at += 1
            else:
                self._next()

    def _next(self) -> None:
        text, at = self._text, self._at
        if currency := _CURRENCY.match(text, at):
            number = _NUMBER.match(text, currency.end() + (text[currency.end() : currency.end() + 1] == " "))
            if number is None:
                raise NoSum(text)
            self._number(number, _meaning(CURRENCIES, currency))
        elif number := _NUMBER.match(text, at):
            self._number(number)
        elif fraction := _FRACTION.match(text, at):
            value = _meaning(FRACTIONS, fraction)
            self.tokens += [_Token("number", Number(value, name=_NAMES[value])), _Token("of")]
            self._at = fraction.end()
        elif word := _WORD.match(text, at):
            self._word(word)
        else:
            raise NoSum(text)

    def _number(self, found: re.Match[str], currency: str = "") -> None:
        value = to_number(found[0], self._code)
        if value is None:
            raise NoSum(found[0])
        end = found.end()
        if scale := _SCALE.match(self._text, end + (self._text[end : end + 1] == " ")):
            value, end = value * _meaning(SCALES, scale), scale.end()
        if not currency and (pence := _PENCE.match(self._text, end)):
            value, end, currency = value / 100, pence.end(), "£"
        self._at = end
        self.tokens.append(_Token("number", Number(value, currency or self._unit())))

    def _unit(self) -> str:
        """The unit or currency after a number; "in" is inches only if no other unit follows it."""
        text = self._text
        begin = self._at + (text[self._at : self._at + 1] == " ")
        if currency := _CURRENCY.match(text, begin):
            self._at = currency.end()
            return _meaning(CURRENCIES, currency)
        end = _unit_end(text, begin)
        unit = text[begin:end]
        if not unit and (other := _UNIT_BEFORE_TO.match(text, begin)) and other[0].lower() not in WORDS:
            unit, end = other[0], other.end()
        after = end + (text[end : end + 1] == " ")
        if unit == "in" and _unit_end(text, after) > after and not re.match(r"(?:in|to)\b", text[after:]):
            return ""
        self._at = end
        return unit

    def _word(self, word: re.Match[str]) -> None:
        text, kind = self._text, _meaning(WORDS, word)
        self._at = word.end()
        before, after = text[word.start() - 1 : word.start()], text[word.end() : word.end() + 1]
        if not kind:  # an article
            return
        if kind == "of that":
            self.tokens += [_Token("of"), _Token("that")]
        elif kind in ("to", "one"):
            begin = self._at + (after == " ")
            end = _unit_end(text, begin)
            if kind == "to" and end == begin:
                other = _OTHER_UNIT.fullmatch(text, begin)
                end = other.end() if other else begin
            if end == begin:
                raise NoSum(text)
            self._at = end
            unit = text[begin:end]
            one = Number(Fraction(1), unit)
            self.tokens.append(_Token("to", unit=unit) if kind == "to" else _Token("number", one))
        else:
            tight = word[0] in "-/x" and " " not in (before, after) and before not in ("", ")", "(")
            self.tokens.append(_Token(kind, tight=tight))


class _Parser:
    """Builds a tree from tokens with the usual precedence; "15 % of 80" binds like a product."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    def whole(self) -> Node:
        tree = self._sum()
        if self._take("to"):
            tree = Operation("to", (tree,), self._tokens[self._at - 1].unit)
        if self._at < len(self._tokens):
            raise NoSum("more")
        return tree

    def _peek(self) -> str:
        return self._tokens[self._at].kind if self._at < len(self._tokens) else ""

    def _take(self, *kinds: str) -> str:
        kind = self._peek()
        if kind in kinds:
            self._at += 1
            return kind
        return ""

    def _sum(self) -> Node:
        tree = self._product()
        while sign := self._take("+", "-"):
            tree = Operation(sign, (tree, self._product()))
        return tree

    def _product(self) -> Node:
        tree = self._signed()
        while sign := self._take("*", "/", "mod", "of") or ("*" if self._peek() == "(" else ""):
            right = self._signed()
            if sign == "of" and not (_is_share(tree) or _is_share(right)):
                raise NoSum("of what")
            tree = Operation(sign, (tree, right))
        return tree

    def _signed(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise NoSum("too deep")
        if self._take("-"):
            tree: Node = Operation("neg", (self._signed(),))
        else:
            tree = self._postfix()
            if self._take("^"):
                tree = Operation("^", (tree, self._signed()))
        self._depth -= 1
        return tree

    def _postfix(self) -> Node:
        tree = self._atom()
        while sign := self._take("%", "!", "²", "³"):
            if sign in "²³":
                tree = Operation("^", (tree, Number(Fraction(2 if sign == "²" else 3))))
            else:
                tree = Operation(sign, (tree,))
        return tree

    def _atom(self) -> Node:
        if self._take("that"):
            return That()
        if self._take("number"):
            tree: Node = self._last_number()
            while isinstance(tree, Number | Operation) and self._peek() == "number" and self._follows_on():
                self._at += 1
                tree = Operation("+", (tree, self._last_number()))  # 5 ft 3 in
            return tree
        if sign := self._take("√", "∛"):
            return Operation(sign, (self._signed(),))
        if self._take("factorial"):
            return Operation("!", (self._signed(),))
        if self._take("("):
            tree = self._sum()
            if self._take(")"):
                return tree
        raise NoSum("no number")

    def _last_number(self) -> Number:
        number = self._tokens[self._at - 1].number
        assert number is not None
        return number

    def _follows_on(self) -> bool:
        before, here = self._tokens[self._at - 1].number, self._tokens[self._at].number
        return bool(before and here and before.unit in UNITS and here.unit in UNITS and before.unit != here.unit)


def _is_share(tree: Node) -> bool:
    """Whether a tree is a fraction of something: 15 %, 3/4, half."""
    if isinstance(tree, Number):
        return bool(tree.name)
    return isinstance(tree, Operation) and (
        tree.name == "%" or (tree.name == "/" and all(isinstance(part, Number) for part in tree.parts))
    )


def parse_sum(text: str, code: str = "en") -> Node:
    """Parse a sum written in signs or words. Raises NoSum."""
    text = normalize(text) if len(text) <= MAX_SUM_CHARS else ""
    if not text:
        raise NoSum("empty, or too long")
    for pattern, name in FORMS:
        if found := pattern.fullmatch(text):
            parts = tuple(parse_sum(part, code) for group, part in sorted(found.groupdict().items()) if group in "ab")
            verb = _VERB_OPERATIONS.get(name)
            unit = found["unit"] if name == "to" else ""
            return Operation(verb[0], (*parts, verb[1])) if verb else Operation(name, parts, unit)
    if (listed := LIST_FORM.fullmatch(text)) and len(items := _ITEMS.split(listed["items"])) > 1:
        parts = tuple(parse_sum(item, code) for item in items)
        sign = "*" if listed["what"].lower() == "product" else "+"
        whole = reduce(lambda one, other: Operation(sign, (one, other)), parts)
        mean = listed["what"].lower() in ("average", "mean")
        return Operation("/", (whole, Number(Fraction(len(parts))))) if mean else whole
    return _Parser(Tokens(text, code).tokens).whole()


_VERB_OPERATIONS = {
    "double": ("*", Number(Fraction(2))),
    "triple": ("*", Number(Fraction(3))),
    "halve": ("/", Number(Fraction(2))),
    "square": ("^", Number(Fraction(2))),
}
_PERCENT = r"(?:percent(?:age)?|per cent|%)"
FORMS = tuple(
    (re.compile(pattern, re.I), name)
    for pattern, name in (
        (r"(?:increase|raise) (?P<a>.+?) by (?P<b>.+)", "+"),
        (r"(?:decrease|reduce|lower) (?P<a>.+?) by (?P<b>.+)", "-"),
        (r"add (?P<b>.+?) to (?P<a>.+)", "+"),
        (r"(?:subtract|take|deduct) (?P<b>.+?) (?:from|off) (?P<a>.+)", "-"),
        (r"multiply (?P<a>.+?) (?:by|with) (?P<b>.+)", "*"),
        (r"divide (?P<a>.+?) by (?P<b>.+)", "/"),
        (r"(?:double|twice|verdopple|das doppelte von|le double de|el doble de|o dobro de) (?P<a>.+)", "double"),
        (r"(?:triple|verdreifache) (?P<a>.+)", "triple"),
        (r"(?:halve|halbiere) (?P<a>.+)", "halve"),
        (r"square (?P<a>(?!root).+)", "square"),
        (rf"{_PERCENT} of (?P<b>.+?) (?:is|are) (?P<a>.+)", "share"),
        (rf"(?P<a>.+?) (?:(?:is|are) what|as an?|as) {_PERCENT} of (?P<b>.+)", "share"),
        (rf"{_PERCENT} is (?P<a>.+?) of (?P<b>.+)", "share"),
        (r"prozent von (?P<b>.+?) (?:sind|ist) (?P<a>.+)", "share"),
        (r"(?:quel )?pourcentage de (?P<b>.+?) (?:est|font|représente(?:nt)?) (?P<a>.+)", "share"),
        (r"(?:qué )?porcentaje de (?P<b>.+?) (?:es|son) (?P<a>.+)", "share"),
        (r"(?:que )?(?:porcentagem|percentagem) de (?P<b>.+?) (?:é|são) (?P<a>.+)", "share"),
        (r"(?P<a>.+?)是(?P<b>.+?)的百分之(?:几|幾|多少)", "share"),
        (r"(?P<a>.+?)は(?P<b>.+?)の何(?:パーセント|%)(?:ですか|です|か)?", "share"),
        (
            rf"(?:the )?(?:{_PERCENT} )?(?:increase|decrease|change|growth|rise|drop)(?: in {_PERCENT})?"
            r" from (?P<a>.+?) to (?P<b>.+)",
            "change",
        ),
        (rf"from (?P<a>.+?) to (?P<b>.+?) in {_PERCENT}", "change"),
        (r"(?:the )?difference between (?P<a>.+?) and (?P<b>.+)", "-"),
        (r"how many (?P<unit>[^\d]{1,30}?) (?:are there in|are in|is|are|in|make(?: up)?) (?P<a>.+)", "to"),
    )
)
LIST_FORM = re.compile(r"(?:the )?(?P<what>sum|total|product|average|mean) of (?P<items>.+)", re.I)
_ITEMS = re.compile(r",? and |, ", re.I)
