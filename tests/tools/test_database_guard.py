"""Hostile queries: none is run, and none that got past the guard could write."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shop import orders_csv, shop_db, things_parquet

from turnwise.errors import DataError, QueryRefused
from turnwise.tools import sources
from turnwise.tools.database import DatabaseTool
from turnwise.tools.sources import Files, SQLite
from turnwise.tools.sql_guard import MAX_BRACKET_DEPTH, MAX_QUERY_CHARS, check, to_sql, with_limit

DIALECTS = ("duckdb", "sqlite", "postgres", "mysql")
TABLES = ("orders", "customers", "Order Lines")

WRITES = [
    "DROP TABLE orders",
    "DELETE FROM orders",
    "UPDATE orders SET id = 1",
    "INSERT INTO orders VALUES (1)",
    "CREATE TABLE x AS SELECT * FROM orders",
    "SELECT * INTO copied FROM orders",
    "SELECT 1; DROP TABLE orders",
    "SELECT 1;; DELETE FROM orders; --",
    "SELECT 1 /* ; */ ; DELETE FROM orders",
    "SELECT 1 -- \n; DROP TABLE orders",
    "/* SELECT */ DELETE FROM orders",
    "/*! DELETE FROM orders */",
    "WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone",
    "WITH a AS (INSERT INTO orders VALUES (1) RETURNING 1) SELECT * FROM a",
    "SELECT * FROM (DELETE FROM orders RETURNING *) AS gone",
    "SELECT (WITH a AS (UPDATE orders SET id = 2 RETURNING 1) SELECT * FROM a)",
    "EXPLAIN ANALYZE DELETE FROM orders",
    "EXPLAIN SELECT * FROM orders",
    "SELECT * FROM orders FOR UPDATE",
    "SELECT * FROM orders FOR SHARE",
    "LOCK TABLE orders",
    "TRUNCATE orders",
    "VACUUM",
    "MERGE INTO orders USING customers ON true WHEN MATCHED THEN DELETE",
    "BEGIN; DELETE FROM orders; COMMIT",
    "COMMIT",
    "PREPARE x AS DELETE FROM orders",
    "DO $$ BEGIN DELETE FROM orders; END $$",
]
REACHES = [
    "ATTACH '/tmp/x.db' AS x",
    "DETACH main",
    "COPY orders TO '/tmp/x.csv'",
    "COPY orders FROM PROGRAM 'id'",
    "EXPORT DATABASE '/tmp/x'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_list",
    "SET threads = 99",
    "RESET ALL",
    "CALL pragma_version()",
    "SHOW TABLES",
    "DESCRIBE orders",
    "SUMMARIZE orders",
    "USE other",
    "__import__('os').system('id')",
    "SELECT __import__('os')",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM glob('/*')",
    "SELECT * FROM '/etc/passwd'",
    'SELECT * FROM "/etc/passwd"',
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM query('DROP TABLE orders')",
    "SELECT * FROM query_table('orders')",
    "SELECT getenv('HOME')",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_ls_dir('/')",
    "SELECT lo_export(1, '/tmp/x')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT * FROM dblink('host=evil', 'SELECT 1') AS t(a int)",
    "SELECT load_extension('x')",
    "SELECT readfile('/etc/passwd'), writefile('/tmp/x', 'x')",
    "SELECT fts3_tokenizer('x')",
    "SELECT pg_terminate_backend(1)",
    "SELECT set_config('default_transaction_read_only', 'off', false)",
    "SELECT current_setting('data_directory')",
    "SELECT nextval('s')",
    "SELECT pg_advisory_lock(1)",
    "SELECT LOAD_FILE('/etc/passwd')",
    "SELECT * FROM orders INTO OUTFILE '/tmp/x'",
    "SELECT xp_cmdshell('id')",
    "SELECT current_user, session_user",
    "SELECT version()",
    "SELECT query_to_xml('DELETE FROM orders', true, true, '')",
    "SELECT row_to_json(s) FROM secrets.users AS s",
]
LOOKS_AROUND = [
    "SELECT * FROM sqlite_master",
    "SELECT * FROM main.sqlite_master",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM pg_catalog.pg_class",
    "SELECT * FROM pg_shadow",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_tables",
    "SELECT * FROM pragma_table_info('orders')",
    "SELECT * FROM secrets.orders",
    "SELECT * FROM other.main.orders",
    "SELECT (SELECT COUNT(*) FROM pg_authid) FROM orders",
    "SELECT * FROM orders WHERE id IN (SELECT usesysid FROM pg_user)",
    "SELECT * FROM orders, LATERAL (SELECT * FROM pg_user) AS u",
    "SELECT * FROM orders UNION ALL SELECT * FROM pg_user",
    'WITH "PG_CLASS" AS (SELECT 1) SELECT * FROM pg_catalog.pg_class',
    "WITH orders AS (SELECT * FROM orders) SELECT * FROM orders",
    "SELECT 'pg_authid'::regclass",
    "SELECT CAST('x' AS regproc)",
    "SELECT * FROM ordеrs",  # with a Cyrillic е
    "SELECT * FROM ｏｒｄｅｒｓ",
    "SELECT * FROM orders\u200b",
    "SELECT * FROM orders\x00",
    "SELECT U&'d' FROM orders",
    "SELECT '\\' OR 1 = 1 -- ' FROM orders",
    "SELECT /*+ SET_VAR(max_execution_time = 0) */ id FROM orders, secrets.users",
]
NEVER_ENDS = [
    "SELECT pg_sleep(100)",
    "SELECT sleep(100)",
    "SELECT benchmark(1000000000, md5('a'))",
    "SELECT randomblob(1000000000)",
    "SELECT repeat('x', 1000000000)",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r",
    "WITH r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r",
    "SELECT * FROM generate_series(1, 1000000000000)",
    "SELECT * FROM range(1000000000000)",
    "SELECT UNNEST(GENERATE_SERIES(1, 1000000000000))",
    f"SELECT {'(' * (MAX_BRACKET_DEPTH + 1)}1{')' * (MAX_BRACKET_DEPTH + 1)}",
    "SELECT " + "1+" * MAX_QUERY_CHARS + "1",
    "SELECT " + "NOT " * 900 + "TRUE",
]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("sql", [*WRITES, *REACHES, *LOOKS_AROUND, *NEVER_ENDS[:-1], "", ";", "hello", "\x00", "'"])
def test_it_is_refused(sql: str, dialect: str) -> None:
    with pytest.raises(QueryRefused, match="The query was not run"):
        check(sql, dialect, TABLES, "main")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("sql", "run"),
    [
        ("SELECT * FROM orders", "SELECT * FROM orders LIMIT 10"),
        ("select /* a */ id -- b\n from ORDERS;", None),
        ("WITH a AS (SELECT id FROM orders), b AS (SELECT * FROM a) SELECT COUNT(*) FROM b", None),
        ("SELECT id FROM orders UNION SELECT id FROM customers ORDER BY 1 LIMIT 3", None),
        ("SELECT * FROM orders LIMIT 1000000", None),
        (
            "SELECT a.id FROM orders AS a JOIN customers AS b ON a.id = b.id WHERE b.city LIKE 'B%' AND a.id IN (1)",
            None,
        ),
        ("SELECT CASE WHEN id > 1 THEN 'a' ELSE 'b' END, ROUND(AVG(id), 2) FROM orders GROUP BY 1 HAVING 1 < 2", None),
        ("SELECT id, RANK() OVER (PARTITION BY country ORDER BY id DESC) AS place FROM orders", None),
        ("SELECT CAST(id AS DECIMAL(10, 2)), COALESCE(country, '--; DROP TABLE orders') FROM orders", None),
        ("SELECT EXTRACT(YEAR FROM order_date) AS year, COUNT(DISTINCT id) FROM orders GROUP BY 1", None),
    ],
)
def test_a_plain_query_is_taken_and_written_anew(sql: str, run: str | None, dialect: str) -> None:
    tree = check(sql, dialect, TABLES, "main")
    again = to_sql(with_limit(tree, 10), dialect)
    assert "/*" not in again
    assert "-- b" not in again
    assert run is None or again == run
    assert to_sql(check(again, dialect, TABLES, "main"), dialect) == again


@pytest.mark.parametrize("limit", ["LIMIT -1", "LIMIT 1 + 999999", "LIMIT (SELECT 999999)", "OFFSET 2", "LIMIT 11"])
def test_no_limit_of_its_own_outruns_ours(limit: str) -> None:
    tree = check(f"SELECT id FROM orders {limit}", "duckdb", TABLES, "main")
    assert to_sql(with_limit(tree, 10), "duckdb").endswith(") AS found LIMIT 10")


def test_a_name_of_with_cannot_stand_for_a_table_of_other_capitals() -> None:
    tree = check('WITH "PG_CLASS" AS (SELECT 1 AS a) SELECT * FROM pg_class', "postgres", TABLES, "public")
    assert to_sql(tree, "postgres") == 'WITH "PG_CLASS" AS (SELECT 1 AS a) SELECT * FROM "PG_CLASS"'


@given(
    st.text(max_size=200) | st.lists(st.sampled_from([*WRITES, *REACHES, "SELECT", "(", ")", ";", "--"])).map(" ".join)
)
def test_whatever_comes_it_is_refused_or_one_select(sql: str) -> None:
    try:
        tree = check(sql, "duckdb", TABLES, "main")
    except QueryRefused:
        return
    assert to_sql(tree, "duckdb").startswith(("SELECT", "WITH", "("))


# --- on real data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for make in (orders_csv, shop_db, things_parquet):
        make(folder)
    return folder


@pytest.fixture
def database(folder: Path) -> Iterator[DatabaseTool]:
    """A tool with a file of every kind, which are the same to the last byte when the test is done."""
    before = fingerprint(folder)
    database = DatabaseTool()
    for path in sorted(folder.iterdir()):
        database.attach(path)
    yield database
    assert fingerprint(folder) == before
    assert asyncio.run(database.run("SELECT COUNT(*) AS n FROM orders")).text == "The n is 6."
    assert asyncio.run(database.run("SELECT COUNT(*) AS n FROM customers")).text == "The n is 3."


def fingerprint(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*"))}


def test_the_tool_refuses_them_all_and_says_so(database: DatabaseTool) -> None:
    for sql in [*WRITES, *REACHES, *LOOKS_AROUND, *NEVER_ENDS]:
        result = asyncio.run(database.run(sql))
        assert (result.text, result.hits) == ("", ())
        assert result.error
        assert "sql" in result.details


def test_past_the_guard_nothing_is_written_nor_reached(database: DatabaseTool, folder: Path) -> None:
    """What every source does with hostile statements that the guard would have let through."""
    files, shop = Files((folder / "orders.csv",)), SQLite(folder / "shop.db")
    files.tables()
    for sql in [*WRITES, *REACHES]:
        for source, statement in ((files, sql), (shop, sql.replace("orders", "customers"))):
            try:
                source.rows(statement)
            except (DataError, TypeError, AttributeError):  # those of statements that give no rows
                continue
    assert files.rows("SELECT COUNT(*) FROM orders")[1] == [(6,)]
    assert shop.rows("SELECT COUNT(*) FROM customers")[1] == [(3,)]
    for sql in (
        "SELECT * FROM read_text('/etc/hostname')",
        f"COPY orders TO '{folder}/x.csv'",
        f"ATTACH '{folder}/x.db'",
    ):
        with pytest.raises(DataError, match=r"(?i)permission|disabled"):
            files.rows(sql)
    for sql in (
        "SELECT * FROM sqlite_master",
        f"ATTACH '{folder}/x.db' AS x",
        "PRAGMA journal_mode = DELETE",
        "DELETE FROM customers",
    ):
        with pytest.raises(DataError, match=r"not authorized|prohibited"):
            shop.rows(sql)
    assert database.tables


def crossed(table: str, times: int) -> str:
    return f"SELECT COUNT(*) AS n FROM {', '.join(f'{table} AS t{number}' for number in range(times))}"


@pytest.mark.parametrize(("table", "times"), [("orders", 22), ("customers", 34), ("things", 7)])
def test_a_query_that_never_ends_is_ended(
    database: DatabaseTool, monkeypatch: pytest.MonkeyPatch, table: str, times: int
) -> None:
    monkeypatch.setattr(sources, "QUERY_TIMEOUT_SECONDS", 0.2)
    result = asyncio.run(database.run(crossed(table, times)))
    assert result.error == "The query took longer than 0.2 seconds and was stopped."


def doubled(table: str, times: int) -> str:
    sql = f"SELECT id || '{'x' * 1000}' AS a FROM {table}"
    for _ in range(times):
        sql = f"SELECT a || a || a || a AS a FROM ({sql}) AS inner_one"
    return f"SELECT MAX(a) AS a FROM ({sql}) AS all_of_it"


@pytest.mark.parametrize("table", ["customers", "things"])
def test_a_value_that_doubles_without_end_is_refused(database: DatabaseTool, table: str) -> None:
    result = asyncio.run(database.run(doubled(table, 12)))
    assert result.error == "The query was not run: it has too many nested queries."


def test_what_is_too_large_for_the_memory_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "DUCKDB_MEMORY_LIMIT", "50MB")
    monkeypatch.setattr(sources, "MAX_CELL_BYTES", 100_000)
    database = DatabaseTool()
    database.attach(folder / "things.parquet")
    database.attach(folder / "shop.db")
    assert "Out of Memory" in asyncio.run(database.run(doubled("things", 4))).error
    assert "too big" in asyncio.run(database.run(doubled("customers", 4))).error
    assert asyncio.run(database.run("SELECT COUNT(*) AS n FROM things")).text == "The n is 1000."


def test_a_long_value_is_cut(database: DatabaseTool) -> None:
    result = asyncio.run(database.run(f"SELECT '{'x' * 3000}' AS a FROM customers LIMIT 1"))
    assert len(result.text) < 200
