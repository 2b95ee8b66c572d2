"""Sums and results as text: in the user's language for a reader, in the grammar's notation for the next sum."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from pathlib import Path

from turnwise.sums.grammar import DECIMAL_COMMA_LANGUAGES, MAX_DIGITS, Node, Number, Operation, That
from turnwise.tools.values import MONEY_SIGNS, Value, symbol

ROUNDED_DIGITS = 6  # significant digits of a rounded number
MAX_DECIMAL_PLACES = 12  # with more, a number is rounded
MAX_WRITTEN_DIGITS = 40  # longer numbers use scientific notation

TEXTS: dict[str, dict[str, str]] = tomllib.loads(
    (Path(__file__).parent / "calculator.toml").read_text(encoding="utf-8")
)
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "of": 2, "mod": 2, "neg": 3, "^": 4}
_PREFIX_SIGNS = "$€£¥"


def format_sum(tree: Node, code: str = "") -> str:
    """Write a sum in signs: as `parse_sum` reads it, or, given a language code, by the conventions of that language."""
    return _format_node(tree, code, 0)


def _format_node(tree: Node, code: str, rank: int) -> str:
    if isinstance(tree, That):
        return "that"
    if isinstance(tree, Number):
        name = tree.name if code in ("", "en") else str(tree.value) if tree.name else ""
        fixed = 2 if tree.unit in MONEY_SIGNS and places_of(tree.value) == 1 else None  # £13.40, but £0.125
        amount = name or (format_number(tree.value, code, fixed) if code else _literal_text(tree.value))
        return _with_sign(amount, tree.unit, code)
    own = _PRECEDENCE.get(tree.name, 5)
    ranks = {"%": (6,), "!": (6,), "√": (0,), "∛": (0,), "to": (0,), "^": (5, 4)}.get(tree.name, (own, own + 1))
    parts = [_format_node(part, code, least) for part, least in zip(tree.parts, ranks, strict=False)]
    match tree.name:
        case "%":
            text = f"{parts[0]} %"
        case "!":
            text = f"{parts[0]}!"
        case "√" | "∛":
            text = f"{tree.name}({parts[0]})"
        case "neg":
            text = f"-{parts[0]}"
        case "^":
            text = f"{parts[0]}^{parts[1]}"
        case "to":
            text = f"{parts[0]} in {tree.unit}"
        case "share":
            text = f"{parts[0]} as % of {parts[1]}"
        case "change":
            text = f"change from {parts[0]} to {parts[1]}"
        case "of":
            text = f" {TEXTS[code or 'en']['of']} ".join(parts)
        case "*" if code:
            text = " × ".join(parts)
        case sign:
            text = f" {sign} ".join(parts)
    return f"({text})" if own < rank else text


def _with_sign(amount: str, unit: str, code: str) -> str:
    if not unit:
        return amount
    if unit not in _PREFIX_SIGNS or code in DECIMAL_COMMA_LANGUAGES:
        return f"{amount} {unit}"
    return f"-{unit}{amount[1:]}" if amount.startswith("-") else unit + amount


def _literal_text(amount: Fraction) -> str:
    places = places_of(amount)
    if places is None:
        return f"({amount.numerator}/{amount.denominator})"
    digits = str(abs(amount.numerator) * 10**places // amount.denominator).rjust(places + 1, "0")
    text = digits[: len(digits) - places] + ("." + digits[-places:] if places else "")
    if len(digits) > MAX_DIGITS:  # written 1e99
        text = f"{digits.rstrip('0')}e{len(digits) - len(digits.rstrip('0'))}"
    return f"(-{text})" if amount < 0 else text


def places_of(amount: Fraction) -> int | None:
    """The decimal places needed to write an amount exactly, or None if there is no such number or it is too large."""
    rest, twos, fives = amount.denominator, 0, 0
    while rest % 2 == 0 and twos <= MAX_DECIMAL_PLACES:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0 and fives <= MAX_DECIMAL_PLACES:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 and max(twos, fives) <= MAX_DECIMAL_PLACES else None


def result_sentence(tree: Node, value: Value, code: str) -> str:
    """The result as a sentence: "15 % of 80 is 12."."""
    texts = TEXTS[code]
    values = {"result": format_result(tree, value, code), "about": texts["about"] if is_rounded(value) else ""}
    if isinstance(tree, Operation) and tree.name in ("share", "change"):
        values["one"], values["other"] = (format_sum(part, code) for part in tree.parts)
        if tree.name == "change":
            values["way"] = texts["more" if value.amount >= 0 else "less"]
            values["result"] = values["result"].removeprefix("-")
        return texts[tree.name].format(**values)
    left = tree.parts[0] if isinstance(tree, Operation) and tree.name == "to" else tree
    text = texts["is"].format(sum=format_sum(left, code), **values)
    return text[0].upper() + text[1:]


def is_rounded(value: Value) -> bool:
    places = places_of(value.amount)
    money = value.sign not in ("", "%")
    return not value.exact or places is None or (money and places > 2) or abs(value.amount) >= 10**MAX_WRITTEN_DIGITS


def format_result(tree: Node, value: Value, code: str) -> str:
    amount = format_number(value.amount, code, 2 if value.sign not in ("", "%") else None)
    if value.unit is None:
        return _with_sign(amount, value.sign, code)
    asked = tree.unit if isinstance(tree, Operation) and tree.name == "to" else ""
    sign = symbol(value.unit)
    return f"{amount} {sign if sign.startswith('°') else asked or sign}"


def format_number(amount: Fraction, code: str, fixed: int | None = None) -> str:
    """Write a number by the conventions of a language, rounded if it has no short exact form.

    A number that is not whole gets `fixed` decimal places if given."""
    size, places = abs(amount), places_of(amount)
    if size >= 10**MAX_WRITTEN_DIGITS or (places is None and 0 < size < Fraction(1, 10**ROUNDED_DIGITS)):
        return _scientific(amount, code)
    rounded = places is None
    if places is None:
        places = max(2, ROUNDED_DIGITS - len(str(int(size)).lstrip("0")))
    if fixed is not None and places:
        places = fixed
    digits = str(round(size * 10**places)).rjust(places + 1, "0")
    whole, decimals = digits[: len(digits) - places], digits[len(digits) - places :]
    if rounded and fixed is None:
        decimals = decimals.rstrip("0")
    thousands, decimal = _separators(code)
    text = f"{int(whole):,}".replace(",", thousands) + (decimal + decimals if decimals else "")
    return f"-{text}" if amount < 0 else text


def _scientific(amount: Fraction, code: str) -> str:
    size = abs(amount)
    power = len(str(size.numerator)) - len(str(size.denominator))
    power -= size < Fraction(10) ** power
    digits = str(round(size / Fraction(10) ** (power - ROUNDED_DIGITS + 1)))
    power, digits = power + (len(digits) > ROUNDED_DIGITS), digits.rstrip("0")
    _, decimal = _separators(code)
    first = digits[0] + (decimal + digits[1:ROUNDED_DIGITS] if digits[1:ROUNDED_DIGITS] else "")
    return f"{'-' if amount < 0 else ''}{first} × 10^{power}"


def _separators(code: str) -> tuple[str, str]:
    if code not in DECIMAL_COMMA_LANGUAGES:
        return ",", "."
    return ("\u202f" if code == "fr" else "."), ","
