"""A real PostgreSQL, attached by its address as its superuser, which may do anything but is not let."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import pytest
from shop import asked
from test_database_guard import LOOKS_AROUND, NEVER_ENDS, REACHES, WRITES, crossed

from tests import services
from turnwise.errors import DataError
from turnwise.tools import sources
from turnwise.tools.database import DatabaseTool
from turnwise.tools.sources import Server

psycopg = pytest.importorskip("psycopg")

SETUP = """
CREATE TABLE orders (id serial PRIMARY KEY, customer text, country varchar(20), price numeric(10, 2),
    placed timestamptz);
INSERT INTO orders (customer, country, price, placed) VALUES ('Ada', 'Germany', 40.50, '2022-11-03'),
    ('Bolt', 'Germany', 300, '2023-01-15'), ('Curie', 'France', 15, '2023-02-01');
CREATE TABLE "Order Lines" ("Line No" int, "unitPrice" double precision, tags text[], at interval);
INSERT INTO "Order Lines" VALUES (1, 2.5, '{a}', '1 day');
CREATE VIEW german AS SELECT * FROM orders WHERE country = 'Germany';
CREATE SCHEMA secrets;
CREATE TABLE secrets.users (name text);
CREATE FUNCTION public.sum_up(a int) RETURNS int AS $$ BEGIN DELETE FROM orders; RETURN 1; END $$ LANGUAGE plpgsql;
"""


@pytest.fixture(scope="module")
def url(postgres_server: services.PostgresServer) -> str:
    address = postgres_server.create("shop")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(SETUP)
    return address


@pytest.fixture
def database(url: str) -> Iterator[DatabaseTool]:
    database = DatabaseTool()
    before = contents(url)
    database.attach(url)
    yield database
    assert contents(url) == before


def contents(url: str) -> list[object]:
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        rows = [connection.execute(f'SELECT * FROM "{schema}"."{table}"').fetchall() for schema, table in tables]
        objects = connection.execute("SELECT COUNT(*) FROM pg_largeobject_metadata").fetchall()
        return [tables, rows, objects]


def test_the_tables_and_views_of_its_schema_are_attached(database: DatabaseTool) -> None:
    assert [table.name for table in database.tables] == ["orders", "Order Lines", "german"]
    kinds = {column.name: column.kind for column in database.tables[0].columns}
    assert kinds == {"id": "number", "customer": "text", "country": "text", "price": "number", "placed": "date"}
    assert [column.kind for column in database.tables[1].columns] == ["number", "number", "other", "other"]


def test_questions(database: DatabaseTool) -> None:
    assert asked(database, "how many orders from Germany in 2023?").text.startswith("The number of orders is 1 ")
    assert asked(database, "average price by country").text.splitlines()[2:] == [
        "| Germany | 170.25 |",
        "| France | 15 |",
    ]
    assert (
        asked(database, "which customer has the highest price?").text
        == "The customer is Bolt; the highest price is 300."
    )
    assert asked(database, "total price by year").text.splitlines()[2:] == ["| 2022 | 40.50 |", "| 2023 | 315 |"]
    assert asked(database, "list order lines").details["sql"] == 'SELECT * FROM "Order Lines"'
    percent = asyncio.run(database.run("SELECT customer FROM public.orders WHERE customer LIKE 'A%' AND 5 % 2 = 1"))
    assert percent.text == "The customer is Ada (where customer LIKE 'A%' AND 5 % 2 = 1)."


def test_hostile_queries_are_refused(database: DatabaseTool) -> None:
    for sql in [*WRITES, *REACHES, *LOOKS_AROUND, *NEVER_ENDS, "SELECT sum_up(1)", "SELECT * FROM secrets.users"]:
        result = asyncio.run(database.run(sql))
        assert result.error, sql
        assert not result.hits


def test_past_the_guard_nothing_is_written(url: str, database: DatabaseTool) -> None:
    server = Server(url)
    stacked = ["COMMIT; DELETE FROM orders", "SET default_transaction_read_only = off; COMMIT; DELETE FROM orders"]
    statements = [*WRITES, *stacked, "SELECT sum_up(1)", "SELECT lo_creat(-1)", "SELECT nextval('orders_id_seq')"]
    for sql in [*statements, "SELECT set_config('transaction_read_only', 'off', true), sum_up(1)"]:
        try:
            server.rows(sql)
        except DataError:
            continue
        assert sql.startswith(("EXPLAIN", "SELECT * FROM orders FOR", "COMMIT", "/*!", "PREPARE", "SELECT lo_")), sql
    with pytest.raises(DataError, match="read-only transaction"):
        server.rows("SELECT sum_up(1)")
    assert database.tables


@pytest.mark.parametrize("sql", [crossed("orders", 30), "SELECT pg_sleep(60)"])
def test_a_query_that_never_ends_is_ended(url: str, monkeypatch: pytest.MonkeyPatch, sql: str) -> None:
    monkeypatch.setattr(sources, "QUERY_TIMEOUT_SECONDS", 0.2)
    with pytest.raises(DataError, match="took longer than"):
        Server(url).rows(sql)


def test_new_rows_are_seen(url: str, database: DatabaseTool) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO orders (customer, country, price) VALUES ('New', 'Spain', 1)")
        assert asked(database, "how many orders are there?").text == "The number of orders is 4."
        connection.execute("DELETE FROM orders WHERE customer = 'New'")


def test_the_password_is_nowhere_to_be_seen(
    postgres_server: services.PostgresServer, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    database = DatabaseTool()
    database.attach(url)
    result = asked(database, "how many orders are there?")
    wrong = [url.replace(services.PASSWORD.replace(" ", "%20"), "not-it"), postgres_server.url("no_such_one")]
    told = [repr(result), repr(database.tables), database.about, caplog.text]
    for address in wrong:
        with pytest.raises(DataError) as raised:
            DatabaseTool().attach(address)
        told.append(f"{raised.value} {raised.value.hint}")
    told.append(asyncio.run(database.run("SELECT nothing FROM orders")).error)
    secrets = (services.PASSWORD, services.PASSWORD.replace(" ", "%20"), "not-it")
    assert [text for text in told for secret in secrets if secret in text] == []
    assert result.hits[0].passage.source == "postgresql://127.0.0.1/shop"
    assert result.hits[0].passage.title == "shop: orders"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("postgres://user:hunter2@127.0.0.1:1/none", "127.0.0.1"),
        ("nosuch://user:hunter2@host/none", "not known"),
        ("postgres://user:hunter2@host:port/none", "not the address"),
        ("mysql+pymysql://user:hunter2@host/none", "driver"),
    ],
)
def test_an_address_that_leads_nowhere(address: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as raised:
        DatabaseTool().attach(address)
    assert "hunter2" not in f"{raised.value} {raised.value.hint}"
    assert raised.value.hint
