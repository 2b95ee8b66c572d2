"""The guard of the database tool: accepts only a single SELECT made of parts that are known to be harmless.

Statements, clauses, functions, types and tables are all allow-listed. The SQL that runs is generated from the checked
tree, so that no comment and no other reading of the original text can reach the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from turnwise.errors import DataError, QueryRefused

if TYPE_CHECKING:
    from sqlglot import exp

MAX_QUERY_CHARS = 4000
MAX_BRACKET_DEPTH = 40
MAX_SELECTS = 20  # in one query, nested ones included
MAX_EXPANDED_COLUMNS = 10_000  # once inner queries are inlined

_SYNTAX = """
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
_FUNCTIONS_BY_NAME = frozenset("date_part julianday total mean stddev monthname dayname isodow weekday".split())
_TYPES = frozenset(
    """TINYINT SMALLINT MEDIUMINT INT BIGINT INT128 UTINYINT USMALLINT UINT UBIGINT FLOAT DOUBLE DECIMAL BIGDECIMAL
    BOOLEAN CHAR NCHAR VARCHAR NVARCHAR TEXT DATE TIME TIMETZ DATETIME TIMESTAMP TIMESTAMPTZ TIMESTAMPNTZ
    INTERVAL""".split()
)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202f\u2060-\u2069\ufeff\ud800-\udfff]")


def check(sql: str, dialect: str, tables: Iterable[str], schema: str) -> exp.Query:
    """Parse a query that is safe to run: a single SELECT from these tables. Raises QueryRefused with the reason."""
    if len(sql) > MAX_QUERY_CHARS:
        raise _refusal(f"it is longer than {MAX_QUERY_CHARS:,} characters")
    if _CONTROL.search(sql):
        raise _refusal("it has invisible characters")
    if "\\" in sql:
        raise _refusal("it has a backslash, which databases interpret differently")
    tree = _parse(sql, dialect)
    allowed = _allowed_nodes()
    for node in tree.walk():
        if type(node) not in allowed and not _is_function_by_name(node):
            raise _refusal(f"{_name_of(node)} is not allowed")
        node.comments = None
    _check_types(tree)
    _check_size(tree)
    _check_tables(tree, {name.lower(): name for name in tables}, schema)
    return tree


def to_sql(tree: exp.Query, dialect: str) -> str:
    """Write a tree as SQL in a dialect, on one line."""
    return tree.sql(dialect, comments=False)


def with_limit(tree: exp.Query, limit: int) -> exp.Query:
    """Return the query with at most `limit` rows."""
    from sqlglot import exp

    own = tree.args.get("limit")
    count = getattr(own, "expression", None)
    if own is None and not tree.args.get("offset"):
        return tree.limit(limit)
    if isinstance(count, exp.Literal) and count.is_int and int(count.this) <= limit:
        return tree
    return exp.select("*").from_(tree.subquery("found")).limit(limit)


def sqlglot() -> Any:
    """The SQL parser, from the optional `data` extra."""
    try:
        import sqlglot
    except ImportError as error:
        raise missing_extra("Querying attached data needs an SQL parser") from error
    return sqlglot


def missing_extra(what: str) -> DataError:
    return DataError(f"{what}, which is not installed.", 'pip install "turnwise[data]"')


def _parse(sql: str, dialect: str) -> exp.Query:
    parser = sqlglot()
    if not re.match(r"[\s(]*(?:--|/\*|select\b|with\b)", sql, re.I):
        raise _refusal("it does not begin with SELECT or WITH")
    if _depth(sql) > MAX_BRACKET_DEPTH:
        raise _refusal("its brackets are nested too deeply")
    try:
        trees = [tree for tree in parser.parse(sql, read=dialect) if tree is not None]
    except Exception as error:  # hostile text can raise anything in the parser
        first = re.sub(r"\x1b\[\d*m", "", str(error)).partition("\n")[0]
        raise _refusal(f"it cannot be read as SQL: {first[:200] or type(error).__name__}") from error
    if len(trees) != 1:
        raise _refusal(f"it has {len(trees)} statements")
    tree: exp.Query = trees[0].unnest()
    if type(tree).__name__ not in ("Select", "Union", "Except", "Intersect"):
        raise _refusal("it is not a SELECT")
    return tree


def _depth(sql: str) -> int:
    deepest = depth = 0
    for character in sql:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    return deepest


def _allowed_nodes() -> set[type]:
    from sqlglot import exp

    names = (*_SYNTAX, *_FUNCTIONS)
    return {getattr(exp, name) for name in names if hasattr(exp, name)}


def _is_function_by_name(node: exp.Expr) -> bool:
    """Whether it is an allowed function that the parser has no node type for."""
    return type(node).__name__ == "Anonymous" and str(node.this).lower() in _FUNCTIONS_BY_NAME


def _name_of(node: exp.Expr) -> str:
    name = str(node.this) if type(node).__name__ == "Anonymous" else type(node).__name__
    return f"“{name[:60]}”"


def _check_types(tree: exp.Expr) -> None:
    from sqlglot import exp

    for kind in tree.find_all(exp.DataType):
        if kind.this.name not in _TYPES:
            raise _refusal(f"the type “{kind.this.name}” is not allowed")


def _check_size(tree: exp.Expr) -> None:
    """Databases inline inner queries before any timeout applies, so nested "a + a" of "a + a" must be limited here."""
    from sqlglot import exp

    selects, size = list(tree.find_all(exp.Select)), 1
    for select in selects:
        parts = [*select.expressions, select.args.get("where"), select.args.get("having")]
        size *= max((len(list(part.find_all(exp.Column))) for part in parts if part), default=0) or 1
    if len(selects) > MAX_SELECTS or size > MAX_EXPANDED_COLUMNS:
        raise _refusal("it has too many nested queries")


def _check_tables(tree: exp.Expr, attached: dict[str, str], schema: str) -> None:
    """Require every table to be attached or defined by an earlier WITH, and use the real names of attached ones."""
    from sqlglot import exp

    for cte in tree.find_all(exp.CTE):
        if cte.alias.lower() in attached or not isinstance(cte.this, exp.Query):
            raise _refusal(f"“{cte.alias[:60]}” in WITH has the name of a table")
    for table in tree.find_all(exp.Table):
        name = table.this.this if isinstance(table.this, exp.Identifier) else ""
        place = ".".join(part.name for part in table.parts[:-1])
        real = attached.get(name.lower()) if name.isascii() or name in attached.values() else None
        if real is not None and place.lower() in ("", schema.lower()):
            quoted = bool(table.this.args.get("quoted")) or name != real
            table.set("this", exp.to_identifier(real, quoted=quoted))
        elif not place and (cte_name := _visible_ctes(table).get(name.lower())) is not None:
            table.set("this", cte_name.copy())  # the same capitals, so that it cannot mean another table
        else:
            raise _refusal(f"there is no table “{table.sql()[:60]}”")
        table.set("db", None)
        table.set("catalog", None)


def _visible_ctes(table: exp.Expr) -> dict[str, exp.Identifier]:
    """The WITH names in scope for a table: those of the enclosing queries, if defined before it."""
    from sqlglot import exp

    visible: dict[str, exp.Identifier] = {}
    node: exp.Expr | None = table
    while node is not None:
        within, node = node, node.parent
        if isinstance(node, exp.With):  # a CTE sees neither itself nor later ones
            before = node.expressions[: node.expressions.index(within)]
            node = node.parent
        else:
            before = getattr(isinstance(node, exp.Query) and node.args.get("with_"), "expressions", [])
        visible = {each.alias.lower(): each.args["alias"].this for each in before} | visible
    return visible


def _refusal(why: str) -> QueryRefused:
    return QueryRefused(f"The query was not run: {why}.", "Only a single SELECT from the attached tables is run.")
