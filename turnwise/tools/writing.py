"""Sums and their results in writing: for a reader in the user's language, for the next sum in the grammar's."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from pathlib import Path

from turnwise.sums.grammar import COMMA, DIGITS, Node, Number, Operation, That
from turnwise.tools.values import Value, symbol

SHOWN = 6  # digits of what is shown rounded
EXACT = 12  # decimal places of what is shown as it is
LONG = 40  # digits of what is written out

SAYS: dict[str, dict[str, str]] = tomllib.loads((Path(__file__).parent / "calculator.toml").read_text(encoding="utf-8"))
_RANKS = {"+": 1, "-": 1, "*": 2, "/": 2, "of": 2, "mod": 2, "neg": 3, "^": 4}
_BEFORE = "$€£¥"


def written(tree: Node, code: str = "") -> str:
    """A sum in signs. Without a language as `parsed` reads it; with one as its people write it."""
    return _written(tree, code, 0)


def _written(tree: Node, code: str, rank: int) -> str:
    if isinstance(tree, That):
        return "that"
    if isinstance(tree, Number):
        name = tree.name if code in ("", "en") else str(tree.value) if tree.name else ""
        amount = name or (shown(tree.value, code) if code else _literal_text(tree.value))
        return _with_sign(amount, tree.unit, code)
    own = _RANKS.get(tree.name, 5)
    ranks = {"%": (6,), "!": (6,), "√": (0,), "∛": (0,), "to": (0,), "^": (5, 4)}.get(tree.name, (own, own + 1))
    parts = [_written(part, code, least) for part, least in zip(tree.parts, ranks, strict=False)]
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
            text = f" {SAYS[code or 'en']['of']} ".join(parts)
        case "*" if code:
            text = " × ".join(parts)
        case sign:
            text = f" {sign} ".join(parts)
    return f"({text})" if own < rank else text


def _with_sign(amount: str, unit: str, code: str) -> str:
    if not unit:
        return amount
    if unit not in _BEFORE or code in COMMA:
        return f"{amount} {unit}"
    return f"-{unit}{amount[1:]}" if amount.startswith("-") else unit + amount


def _literal_text(amount: Fraction) -> str:
    places = places_of(amount)
    if places is None:
        return f"({amount.numerator}/{amount.denominator})"
    digits = str(abs(amount.numerator) * 10**places // amount.denominator).rjust(places + 1, "0")
    text = digits[: len(digits) - places] + ("." + digits[-places:] if places else "")
    if len(digits) > DIGITS:  # written 1e99
        text = f"{digits.rstrip('0')}e{len(digits) - len(digits.rstrip('0'))}"
    return f"(-{text})" if amount < 0 else text


def places_of(amount: Fraction) -> int | None:
    """How many decimal places write an amount exactly; None where none do, or more than are worth it."""
    rest, twos, fives = amount.denominator, 0, 0
    while rest % 2 == 0 and twos <= EXACT:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0 and fives <= EXACT:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 and max(twos, fives) <= EXACT else None


def sentence(tree: Node, value: Value, code: str) -> str:
    """The result as a sentence: "15 % of 80 is 12."."""
    says = SAYS[code]
    said = {"result": result_of(tree, value, code), "about": says["about"] if is_rounded(value) else ""}
    if isinstance(tree, Operation) and tree.name in ("share", "change"):
        said["one"], said["other"] = (written(part, code) for part in tree.parts)
        if tree.name == "change":
            said["way"] = says["more" if value.amount >= 0 else "less"]
            said["result"] = said["result"].removeprefix("-")
        return says[tree.name].format(**said)
    left = tree.parts[0] if isinstance(tree, Operation) and tree.name == "to" else tree
    text = says["is"].format(sum=written(left, code), **said)
    return text[0].upper() + text[1:]


def is_rounded(value: Value) -> bool:
    places = places_of(value.amount)
    money = value.sign not in ("", "%")
    return not value.exact or places is None or (money and places > 2) or abs(value.amount) >= 10**LONG


def result_of(tree: Node, value: Value, code: str) -> str:
    amount = shown(value.amount, code, 2 if value.sign not in ("", "%") else None)
    if value.unit is None:
        return _with_sign(amount, value.sign, code)
    asked = tree.unit if isinstance(tree, Operation) and tree.name == "to" else ""
    sign = symbol(value.unit)
    return f"{amount} {sign if sign.startswith('°') else asked or sign}"


def shown(amount: Fraction, code: str = "en", fixed: int | None = None) -> str:
    """A number as the people of a language write it, rounded where it has no short end; with so many decimal places
    where that is given and it is not whole."""
    size, places = abs(amount), places_of(amount)
    if size >= 10**LONG or (places is None and 0 < size < Fraction(1, 10**SHOWN)):
        return _scientific(amount, code)
    rounded = places is None
    if places is None:
        places = max(2, SHOWN - len(str(int(size)).lstrip("0")))
    if fixed is not None and places:
        places = fixed
    digits = str(round(size * 10**places)).rjust(places + 1, "0")
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
    if rounded and fixed is None:
        part = part.rstrip("0")
    thousands, decimal = _marks(code)
    text = f"{int(whole):,}".replace(",", thousands) + (decimal + part if part else "")
    return f"-{text}" if amount < 0 else text


def _scientific(amount: Fraction, code: str) -> str:
    size = abs(amount)
    power = len(str(size.numerator)) - len(str(size.denominator))
    power -= size < Fraction(10) ** power
    digits = str(round(size / Fraction(10) ** (power - SHOWN + 1)))
    power, digits = power + (len(digits) > SHOWN), digits.rstrip("0")
    _, decimal = _marks(code)
    first = digits[0] + (decimal + digits[1:SHOWN] if digits[1:SHOWN] else "")
    return f"{'-' if amount < 0 else ''}{first} × 10^{power}"


def _marks(code: str) -> tuple[str, str]:
    if code not in COMMA:
        return ",", "."
    return ("\u202f" if code == "fr" else "."), ","
