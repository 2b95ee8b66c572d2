"""Evaluates sums, exactly if possible, and says what is wrong with those that have no result.

The work is bounded by limits on the input, not by a clock: see the limits here and in `turnwise.sums.grammar`.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from turnwise.sums.grammar import CURRENCIES, Node, Number, Operation, That, unit_name
from turnwise.text import one_line

MAX_BITS = 2**13  # of a numerator or denominator
MAX_FACTORIAL = 500
MAX_UNIT_EXPONENT = 9
ROOT_PRECISION_DIGITS = 50  # for roots without an exact value

_REGISTRY_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True)
class Value:
    amount: Fraction
    sign: str = ""  # % or a currency
    unit: Any = None  # a pint unit
    exact: bool = True


class CannotCalculate(ValueError):
    """A sum without a result. `why` is a key of the texts in calculator.toml, `values` fills them in."""

    def __init__(self, why: str, **values: str) -> None:
        super().__init__(why)
        self.why, self.values = why, values


def evaluate(tree: Node) -> Value:
    """Return the value of a tree. Raises CannotCalculate."""
    match tree:
        case Number():
            return _require_size(_quantity(tree))
        case Operation(name, parts, unit):
            values = [evaluate(part) for part in parts]
            return _require_size(_convert(values[0], unit) if name == "to" else _apply(name, values))
        case That():
            raise CannotCalculate("none")


def _require_size(value: Value) -> Value:
    if max(value.amount.numerator.bit_length(), value.amount.denominator.bit_length()) > MAX_BITS:
        raise CannotCalculate("large")
    return value


def _apply(name: str, values: Sequence[Value]) -> Value:
    first = values[0]
    if name != "neg" and any(value.unit is not None and symbol(value.unit) in _TEMPERATURES for value in values):
        raise CannotCalculate("temperature")
    match name:
        case "+" | "-":
            return _add(first, values[1], -1 if name == "-" else 1)
        case "*" | "of":
            return _multiply(first, values[1])
        case "/":
            return _multiply(first, _invert(values[1]))
        case "neg":
            return Value(-first.amount, first.sign, first.unit, first.exact)
        case "%" if not first.sign and first.unit is None:
            return Value(first.amount, "%", exact=first.exact)
        case "^":
            return _power(first, values[1])
        case "√" | "∛":
            return _power(first, Value(Fraction(1, 2 if name == "√" else 3)))
        case "!":
            amount = _plain(first).amount
            if amount.denominator > 1 or not 0 <= amount <= MAX_FACTORIAL:
                raise CannotCalculate("factorial", most=str(MAX_FACTORIAL))
            return Value(Fraction(math.factorial(int(amount))))
        case "mod":
            amount, by = _plain(first).amount, _plain(values[1]).amount
            if not by:
                raise CannotCalculate("zero")
            return Value(amount % by)
        case "share":
            return Value(100 * _plain(_multiply(first, _invert(values[1]))).amount, "%")
        case "change":
            grown = _plain(_multiply(values[1], _invert(first))).amount
            return Value(100 * (grown - 1), "%")
    raise CannotCalculate("unfit")


def _plain(value: Value) -> Value:
    """A value without a unit; 15 % becomes 0.15."""
    if value.sign == "%":
        return Value(value.amount / 100, exact=value.exact)
    if value.sign or value.unit is not None:
        raise CannotCalculate("unfit")
    return value


def _add(one: Value, other: Value, sign: int) -> Value:
    """80 + 15 % is 92; 10 % + 5 % is 15 %."""
    if other.sign == "%" and one.sign != "%":
        return _multiply(one, Value(1 + sign * other.amount / 100, exact=other.exact))
    if one.unit is not None or other.unit is not None:
        if one.unit is None or other.unit is None:
            raise CannotCalculate("unfit")
        return _with_units(one, other, lambda a, b: a + sign * b)
    if one.sign != other.sign and one.sign and other.sign:
        raise CannotCalculate("currency" if "%" not in (one.sign, other.sign) else "unfit")
    if one.sign == "%" and not other.sign:
        one = _plain(one)
    return Value(one.amount + sign * other.amount, one.sign or other.sign, exact=one.exact and other.exact)


def _multiply(one: Value, other: Value) -> Value:
    one, other = (_plain(each) if each.sign == "%" else each for each in (one, other))
    if one.sign and other.sign:
        if other.sign == f"1/{one.sign}":
            return Value(one.amount * other.amount, exact=one.exact and other.exact)
        raise CannotCalculate("currency")
    if other.sign.startswith("1/"):
        raise CannotCalculate("unfit")
    if one.unit is not None and other.unit is not None:
        return _with_units(one, other, lambda a, b: a * b)
    if one.unit is not None or other.unit is not None:
        if one.sign or other.sign:
            raise CannotCalculate("unfit")
        return Value(one.amount * other.amount, "", one.unit or other.unit, one.exact and other.exact)
    return Value(one.amount * other.amount, one.sign or other.sign, exact=one.exact and other.exact)


def _invert(value: Value) -> Value:
    value = _plain(value) if value.sign == "%" else value
    if not value.amount:
        raise CannotCalculate("zero")
    unit = None if value.unit is None else value.unit**-1
    return Value(1 / value.amount, f"1/{value.sign}" if value.sign else "", unit, value.exact)


def _power(base: Value, exponent: Value) -> Value:
    by = _plain(exponent).amount
    if base.unit is not None:
        if by.denominator > 1 or not 1 <= by <= MAX_UNIT_EXPONENT:
            raise CannotCalculate("unfit")
        return Value(_integer_power(base.amount, int(by)), "", base.unit ** int(by), base.exact)
    amount = _plain(base).amount
    if by.denominator == 1:
        return Value(_integer_power(amount, int(by)), exact=base.exact and exponent.exact)
    if abs(by) > MAX_BITS:
        raise CannotCalculate("large")
    if amount < 0:
        raise CannotCalculate("root")
    if not amount and by < 0:
        raise CannotCalculate("zero")
    root = _exact_root(amount, by.denominator)
    if root is not None:
        return Value(_integer_power(root, by.numerator), exact=base.exact and exponent.exact)
    if abs(by) * max(amount.numerator.bit_length(), amount.denominator.bit_length()) > MAX_BITS:
        raise CannotCalculate("large")
    context = Context(prec=ROOT_PRECISION_DIGITS)
    power = context.power(_decimal(amount, context), _decimal(by, context))
    return Value(Fraction(power), exact=False)


def _integer_power(base: Fraction, by: int) -> Fraction:
    """Raise to a whole power; what would be too large is refused before it is computed."""
    if not base and by < 0:
        raise CannotCalculate("zero")
    size = max(abs(base.numerator), base.denominator).bit_length() - 1
    if base not in (0, 1, -1) and (abs(by) > MAX_BITS or abs(by) * size > MAX_BITS):
        raise CannotCalculate("large")
    return base**by


def _exact_root(amount: Fraction, degree: int) -> Fraction | None:
    if degree not in (2, 3):
        return None
    roots = [math.isqrt(part) if degree == 2 else _cube_root(part) for part in (amount.numerator, amount.denominator)]
    root = Fraction(*roots) if roots[1] else None
    return root if root is not None and root**degree == amount else None


def _cube_root(whole: int) -> int:
    low, high = 0, 1 << (whole.bit_length() // 3 + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**3 <= whole else (low, middle - 1)
    return low


def _decimal(amount: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(amount.numerator), Decimal(amount.denominator))


# --- units --------------------------------------------------------------------------------------------------------


def _registry() -> Any:
    """The pint registry, loaded on first use and only once, because units of two registries cannot be combined.

    Pint's own parser never sees text from a user."""
    with _REGISTRY_LOCK:
        return _load_registry()


@lru_cache(maxsize=1)
def _load_registry() -> Any:
    import pint

    return pint.UnitRegistry(non_int_type=Fraction, cache_folder=None)


def _unit(written: str) -> Any:
    name = unit_name(written)
    if not name:
        known = re.fullmatch(r"[A-Za-zμ]{2,30}", written) and _registry().parse_unit_name(written)
        if not known:
            raise CannotCalculate("unit", unit=one_line(written, 30))
        name = "".join(known[0][:2])
    return _registry().parse_units(name)


def _quantity(number: Number) -> Value:
    if number.unit in MONEY_SIGNS:
        return Value(number.value, number.unit)
    return Value(number.value, "", _unit(number.unit) if number.unit else None)


MONEY_SIGNS = frozenset(CURRENCIES.values())
_TEMPERATURES = ("°C", "°F")  # scales whose zero is arbitrary


def _with_units(one: Value, other: Value, work: Callable[[Any, Any], Any]) -> Value:
    quantity = _registry().Quantity
    return _from_pint(
        lambda: work(quantity(one.amount, one.unit), quantity(other.amount, other.unit)), one.exact and other.exact
    )


def _convert(value: Value, unit: str) -> Value:
    if value.sign and value.sign != "%":
        raise CannotCalculate("currency")
    if value.unit is None:
        raise CannotCalculate("unfit")
    wanted = _unit(unit)
    return _from_pint(lambda: _registry().Quantity(value.amount, value.unit).to(wanted), value.exact)


def _from_pint(work: Callable[[], Any], exact: bool) -> Value:
    """Run a pint computation; its errors become CannotCalculate."""
    import pint

    try:
        found = work()
    except (pint.PintError, ArithmeticError, ValueError, TypeError):
        raise CannotCalculate("unfit") from None
    if found.dimensionless and (base := found.to_base_units()).unitless:
        return Value(Fraction(base.magnitude), exact=exact)
    return Value(Fraction(found.magnitude), "", found.units, exact)


def symbol(unit: Any) -> str:
    """The symbol of a unit: "km/h", "m^2"."""
    above: list[str] = []
    below: list[str] = []
    for name, power in _registry().Quantity(1, unit).unit_items():
        short = _registry().get_symbol(name).removeprefix("Δ")
        (above if power > 0 else below).append(short + (f"^{abs(power)}" if abs(power) != 1 else ""))
    return "/".join(("·".join(above) or "1", *below))
