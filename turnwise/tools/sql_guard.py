"""The guard of the database tool: a query is taken only as one SELECT made of parts that are known to be harmless.

What is listed is allowed, and nothing else: statements, clauses, functions, types, tables. What is run is written anew
from the tree that was checked, so that no comment and no second reading of the text reaches the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from turnwise.errors import DataError, QueryRefused

if TYPE_CHECKING:
    from sqlglot import exp

LONGEST = 4000  # characters of a query
DEEPEST = 40  # brackets within one another
MOST_SELECTS = 20  # queries within a query
LARGEST = 10_000  # columns of an expression, where those of inner queries are put in

_PARTS = """
    Select From Join Where Group Having Order Ordered Limit Offset Fetch Distinct Qualify With CTE Subquery
    Union Except Intersect Table TableAlias Alias Column Identifier Star Literal Boolean Null Paren Tuple Var
    And Or Not Xor EQ NEQ GT GTE LT LTE NullSafeEQ NullSafeNEQ Is In Between Like ILike Escape Exists
    Add Sub Mul Div IntDiv Mod Neg DPipe Case If Cast TryCast DataType DataTypeParam Interval
    Window WindowSpec Filter WithinGroup Cube Rollup GroupingSets""".split()
_FUNCTIONS = """
    Count CountIf Sum Avg Min Max Median Quantile PercentileCont PercentileDisc Stddev StddevPop StddevSamp Variance
    VariancePop Corr ApproxDistinct ArgMax ArgMin GroupConcat AnyValue
    RowNumber Rank DenseRank PercentRank CumeDist Ntile Lag Lead FirstValue LastValue NthValue
    Abs Ceil Floor Round Sign Sqrt Pow Exp Ln Log Greatest Least Coalesce Nullif
    Lower Upper Length Trim Substring Left Right StrPosition StartsWith Contains Concat ConcatWs SafeConcat
    CurrentDate CurrentTimestamp Date Year Month Day DayOfWeek DayOfMonth DayOfYear Week Quarter Hour Minute Extract
    DateTrunc TimestampTrunc DateDiff DateAdd DateSub TsOrDsToDate TsOrDsToTimestamp TsOrDsToDateStr TimeToStr
    StrToDate StrToTime""".split()
_NAMED = frozenset("date_part julianday total mean stddev monthname dayname isodow weekday".split())
_TYPES = frozenset(
    """TINYINT SMALLINT MEDIUMINT INT BIGINT INT128 UTINYINT USMALLINT UINT UBIGINT FLOAT DOUBLE DECIMAL BIGDECIMAL
    BOOLEAN CHAR NCHAR VARCHAR NVARCHAR TEXT DATE TIME TIMETZ DATETIME TIMESTAMP TIMESTAMPTZ TIMESTAMPNTZ
    INTERVAL""".split()
)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202f\u2060-\u2069\ufeff\ud800-\udfff]")


def check(sql: str, dialect: str, tables: Iterable[str], schema: str) -> exp.Query:
    """The query as a tree that may be run: a single SELECT of these tables. Raises QueryRefused, which says why not."""
    if len(sql) > LONGEST:
        raise _refused(f"it is longer than {LONGEST:,} characters")
    if _CONTROL.search(sql):
        raise _refused("it has characters that cannot be seen")
    if "\\" in sql:
        raise _refused("it has a backslash, which not all databases read alike")
    tree = _parsed(sql, dialect)
    allowed = _allowed()
    for node in tree.walk():
        if type(node) not in allowed and not _is_named(node):
            raise _refused(f"{_called(node)} is not allowed")
        node.comments = None
    _check_types(tree)
    _check_size(tree)
    _check_tables(tree, {name.lower(): name for name in tables}, schema)
    return tree


def written(tree: exp.Query, dialect: str) -> str:
    """A tree as SQL of a dialect, on one line."""
    return tree.sql(dialect, comments=False)


def limited(tree: exp.Query, most: int) -> exp.Query:
    """The query, giving at most so many rows."""
    from sqlglot import exp

    given = tree.args.get("limit")
    count = getattr(given, "expression", None)
    if given is None and not tree.args.get("offset"):
        return tree.limit(most)
    if isinstance(count, exp.Literal) and count.is_int and int(count.this) <= most:
        return tree
    return exp.select("*").from_(tree.subquery("found")).limit(most)


def sqlglot() -> Any:
    """The parser, which comes with the extra."""
    try:
        import sqlglot
    except ImportError as error:
        raise missing("Asking attached data needs a parser of SQL") from error
    return sqlglot


def missing(what: str) -> DataError:
    return DataError(f"{what}, which is not installed.", 'pip install "turnwise[data]"')


def _parsed(sql: str, dialect: str) -> exp.Query:
    parser = sqlglot()
    if not re.match(r"[\s(]*(?:--|/\*|select\b|with\b)", sql, re.I):
        raise _refused("it does not begin with SELECT or WITH")
    if _depth(sql) > DEEPEST:
        raise _refused("its brackets stand too deep in one another")
    try:
        trees = [tree for tree in parser.parse(sql, read=dialect) if tree is not None]
    except Exception as error:  # whatever the parser makes of a hostile text, it is no query
        first = re.sub(r"\x1b\[\d*m", "", str(error)).partition("\n")[0]
        raise _refused(f"it cannot be read as SQL: {first[:200] or type(error).__name__}") from error
    if len(trees) != 1:
        raise _refused(f"it has {len(trees)} statements")
    tree: exp.Query = trees[0].unnest()
    if type(tree).__name__ not in ("Select", "Union", "Except", "Intersect"):
        raise _refused("it is not a SELECT")
    return tree


def _depth(sql: str) -> int:
    deepest = depth = 0
    for character in sql:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    return deepest


def _allowed() -> set[type]:
    from sqlglot import exp

    names = (*_PARTS, *_FUNCTIONS)
    return {getattr(exp, name) for name in names if hasattr(exp, name)}


def _is_named(node: exp.Expr) -> bool:
    """Whether it is a function that the parser has no name of its own for, and that is harmless."""
    return type(node).__name__ == "Anonymous" and str(node.this).lower() in _NAMED


def _called(node: exp.Expr) -> str:
    name = str(node.this) if type(node).__name__ == "Anonymous" else type(node).__name__
    return f"“{name[:60]}”"


def _check_types(tree: exp.Expr) -> None:
    from sqlglot import exp

    for kind in tree.find_all(exp.DataType):
        if kind.this.name not in _TYPES:
            raise _refused(f"the type “{kind.this.name}” is not allowed")


def _check_size(tree: exp.Expr) -> None:
    """Databases put inner queries into outer ones before they look at the clock: "a + a" of "a + a" of … must end."""
    from sqlglot import exp

    selects, size = list(tree.find_all(exp.Select)), 1
    for select in selects:
        parts = [*select.expressions, select.args.get("where"), select.args.get("having")]
        size *= max((len(list(part.find_all(exp.Column))) for part in parts if part), default=0) or 1
    if len(selects) > MOST_SELECTS or size > LARGEST:
        raise _refused("its queries within queries are too many")


def _check_tables(tree: exp.Expr, attached: dict[str, str], schema: str) -> None:
    """Every table is an attached one, or a name that a WITH gave before it. The names of attached ones are put in."""
    from sqlglot import exp

    for cte in tree.find_all(exp.CTE):
        if cte.alias.lower() in attached or not isinstance(cte.this, exp.Query):
            raise _refused(f"“{cte.alias[:60]}” in WITH has the name of a table")
    for table in tree.find_all(exp.Table):
        name = table.this.this if isinstance(table.this, exp.Identifier) else ""
        place = ".".join(part.name for part in table.parts[:-1])
        real = attached.get(name.lower()) if name.isascii() or name in attached.values() else None
        if real is not None and place.lower() in ("", schema.lower()):
            quoted = bool(table.this.args.get("quoted")) or name != real
            table.set("this", exp.to_identifier(real, quoted=quoted))
        elif not place and (given := _given_before(table).get(name.lower())) is not None:
            table.set("this", given.copy())  # so that it cannot mean another table, of other capitals
        else:
            raise _refused(f"there is no table “{table.sql()[:60]}”")
        table.set("db", None)
        table.set("catalog", None)


def _given_before(table: exp.Expr) -> dict[str, exp.Identifier]:
    """The names of WITH that this table may mean: of the queries around it, those before the one it stands in."""
    from sqlglot import exp

    given: dict[str, exp.Identifier] = {}
    node: exp.Expr | None = table
    while node is not None:
        within, node = node, node.parent
        if isinstance(node, exp.With):  # of what it stands in, neither itself nor what comes after it can be seen
            before = node.expressions[: node.expressions.index(within)]
            node = node.parent
        else:
            before = getattr(isinstance(node, exp.Query) and node.args.get("with_"), "expressions", [])
        given = {each.alias.lower(): each.args["alias"].this for each in before} | given
    return given


def _refused(why: str) -> QueryRefused:
    return QueryRefused(f"The query was not run: {why}.", "Only one SELECT of the attached tables is run.")
