"""Tables that are attached, and what the tool says of them."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from shop import asked, orders_csv, shop_db, things_parquet

import turnwise
from turnwise.app import data_tool
from turnwise.cli.verbs import turnwise as verbs
from turnwise.config import Settings
from turnwise.errors import DataError, ModelUnavailable
from turnwise.tools.database import DatabaseTool
from turnwise.types import Message, Rewriter, Tool


@pytest.fixture
def orders(tmp_path: Path) -> DatabaseTool:
    database = DatabaseTool()
    database.attach(orders_csv(tmp_path))
    return database


def test_the_tool_names_its_tables_and_columns(orders: DatabaseTool, tmp_path: Path) -> None:
    tool: Tool = orders
    assert tool.name == "database"
    assert "orders (id, customer, country, product" in tool.about
    (customers, _lines) = orders.attach(shop_db(tmp_path))
    assert customers.name == "customers"
    assert "customers (id, name, city, since)" in tool.about


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("how many orders are there?", "The number of orders is 6."),
        ("what is the average price?", "The average unit price is 75.92 (over 6 rows of orders)."),
        ("what is the highest price?", "The highest unit price is 300."),
        ("median price", "The median unit price is 40 (over 6 rows of orders)."),
        (
            "average price of books over 20",
            "The average unit price is 45.50 (over 1 row of orders, where category = 'Books' AND unit_price > 20).",
        ),
        (
            "how many orders from Germany in 2023?",
            "The number of orders is 2"
            " (where country = 'Germany' AND order_date >= '2023-01-01' AND order_date < '2024-01-01').",
        ),
        ("which product has the highest price?", "The product is Oak Desk; the highest unit price is 300."),
        ("which country has the most orders?", "The country is Germany; the number of orders is 3."),
        (
            "average price of books in Spain",
            "There is no average unit price: no values of orders fit (where category = 'Books' AND country = 'Spain').",
        ),
        (
            "list orders of Curie SA from Germany",
            "No rows of orders fit (where customer = 'Curie SA' AND country = 'Germany').",
        ),
        ("when was the earliest order date?", "The earliest order date is 2021-07-30."),
    ],
)
def test_one_row_is_said_as_a_sentence(orders: DatabaseTool, question: str, text: str) -> None:
    assert asked(orders, question).text == text


def test_groups_are_a_table_the_largest_first(orders: DatabaseTool) -> None:
    assert asked(orders, "total revenue by country").text == (
        "| country | total revenue |\n| --- | --- |\n| Germany | 425 |\n| Spain | 160 |\n| France | 120.50 |"
    )
    assert asked(orders, "top 2 products by sales").text == (
        "| product | total revenue |\n| --- | --- |\n| Oak Desk | 300 |\n| Desk Lamp | 240 |"
    )


def test_a_passage_keeps_a_table_as_documents_do(orders: DatabaseTool) -> None:
    text = asked(orders, "top 2 products by sales").hits[0].passage.text
    assert text.splitlines()[2:] == ["product | total revenue", "Oak Desk | 300", "Desk Lamp | 240"]


def test_those_that_are_equal_at_the_top_are_all_named(orders: DatabaseTool) -> None:
    assert asked(orders, "which customer has the most orders?").text == (
        "| customer | number of orders |\n| --- | --- |\n| Ada Ltd | 2 |\n| Curie SA | 2 |"
    )


def test_what_was_read_is_a_passage_with_its_query(orders: DatabaseTool, tmp_path: Path) -> None:
    result = asked(orders, "how many orders are there?")
    sql = "SELECT COUNT(*) AS number_of_orders FROM orders"
    assert result.details == {"sql": sql, "columns": ["number_of_orders"], "rows": 1, "cut": False}
    (hit,) = result.hits
    passage = hit.passage
    assert passage.id < 0
    assert passage.document_id < 0
    assert (passage.title, passage.source, passage.heading) == ("orders.csv", str(tmp_path / "orders.csv"), "SQL")
    assert passage.text == f"{sql}\n\nThe number of orders is 6."
    assert asked(orders, "how many orders are there?").hits == result.hits
    assert asked(orders, "how many countries are there?").hits[0].passage.id != passage.id


def test_of_many_rows_the_first_are_shown(tmp_path: Path) -> None:
    database = DatabaseTool()
    database.attach(things_parquet(tmp_path))
    result = asked(database, "list things")
    assert result.text.count("\n|") == 21
    assert result.text.endswith("These are the first 20 of more than 200 rows.")
    assert (result.details["rows"], result.details["cut"]) == (200, True)
    assert asked(database, "list things with a weight under 45").text.endswith("These are the first 20 of 30 rows.")
    assert asked(database, "how many things per grp").text.splitlines()[2] == "| g0 | 334 |"


def test_an_sqlite_file_with_odd_names_and_values(tmp_path: Path) -> None:
    folder = tmp_path / "it's 100% [a] #1"
    folder.mkdir()
    database = DatabaseTool()
    database.attach(shop_db(folder))
    assert asked(database, "list the customers in Berlin").text == (
        "| id | name | city | since |\n| --- | --- | --- | --- |\n"
        "| 1 | Ada Ltd | Berlin | 2019-01-01 |\n| 3 | Bolt GmbH | Berlin | 2021-01-01 |"
    )
    assert "Paris" in asked(database, "what is the city of O'Hara & Sons?").text
    assert asked(database, "how many customers since 2020").text.startswith("The number of customers is 2")
    assert asked(database, "average unit price of order lines").text == (
        "The average unit price is 5 (over 2 rows of Order Lines)."
    )
    assert asyncio.run(database.read("median unit price of order lines", ())) == ""  # SQLite has no median
    assert "a (1) b \\| c" in asked(database, "list order lines").text
    assert str(folder) in asked(database, "list order lines").hits[0].passage.source


def test_files_with_odd_names_and_contents(tmp_path: Path) -> None:
    database = DatabaseTool()
    (tmp_path / "2023 o'sales [x]*.tsv").write_text("Région\tAmount\nNord\t1\nSüd\t2\n", encoding="latin-1")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "2023 o'sales [x]*.tsv").write_text("region\tamount\n")
    (first,) = database.attach(tmp_path / "2023 o'sales [x]*.tsv")
    (second,) = database.attach(tmp_path / "more" / "2023 o'sales [x]*.tsv")
    assert (first.name, second.name) == ("t_2023_o_sales_x", "2023_o_sales_x_2")
    result = asyncio.run(
        database.run('SELECT "Région", SUM("Amount") AS total FROM t_2023_o_sales_x GROUP BY 1 ORDER BY 1')
    )
    assert result.text.splitlines()[2:] == ["| Nord | 1 |", "| Süd | 2 |"]


def test_versions_are_kept_as_they_are_written_and_averages_are_rounded(tmp_path: Path) -> None:
    rows = ["app,version,hours", "A,4.1,20", "B,4.10,55", "A,4.2,56"]
    (tmp_path / "runs.csv").write_text("\n".join(rows))
    database = DatabaseTool()
    database.attach(tmp_path / "runs.csv")
    assert "| A | 4.1 | 20 |" in asked(database, "list all runs").text
    assert asked(database, "what is the average hours?").text.startswith("The average hours is 43.67 (")


def test_a_column_whose_first_rows_mislead(tmp_path: Path) -> None:
    path = tmp_path / "codes.csv"
    path.write_text("code,size\n" + "1,2\n" * 30_000 + "x,2\n")
    database = DatabaseTool()
    (codes,) = database.attach(path)
    assert [column.kind for column in codes.columns] == ["text", "number"]
    assert asked(database, "how many codes are there?").text == "The number of codes is 30001."


def test_tables_of_files_can_be_joined(orders: DatabaseTool, tmp_path: Path) -> None:
    (tmp_path / "regions.csv").write_text("country,region\nGermany,North\nFrance,West\nSpain,South\n")
    orders.attach(tmp_path / "regions.csv")
    sql = (
        "SELECT r.region, SUM(o.revenue) AS revenue FROM orders o JOIN regions r USING (country) GROUP BY 1 ORDER BY 2"
    )
    result = asyncio.run(orders.run(sql))
    assert result.text.splitlines()[2:] == ["| West | 120.50 |", "| South | 160 |", "| North | 425 |"]
    assert result.hits[0].passage.title == "orders.csv, regions.csv"


def test_a_file_that_changes_is_seen_by_the_next_question(tmp_path: Path) -> None:
    database = DatabaseTool()
    path, shop = orders_csv(tmp_path), shop_db(tmp_path)
    database.attach(path)
    database.attach(shop)
    with path.open("a") as file:
        file.write("7,Ada Ltd,Italy,Globe,Maps,1,20.00,20.00,2024-01-01\n")
    assert asked(database, "how many orders from Italy?").text.startswith("The number of orders is 1 ")
    with closing(sqlite3.connect(shop)) as connection, connection:
        connection.execute("INSERT INTO customers VALUES (4, 'Eco AB', 'Oslo', '2024-01-01')")
    assert asked(database, "how many customers in Oslo?").text.startswith("The number of customers is 1 ")
    os.remove(path)
    gone = "orders.csv is gone: the file was attached but no longer exists."
    assert asked(database, "how many orders are there?").text == gone
    assert asked(database, "total revenue by country").error == gone
    assert asyncio.run(database.read("What is BERT?", ())) == ""
    assert asyncio.run(database.run("SELECT COUNT(*) FROM orders")).error == gone
    assert asked(database, "how many customers are there?").text == "The number of customers is 4."
    orders_csv(tmp_path)
    assert asked(database, "how many orders are there?").text == "The number of orders is 6."


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "There is no file"),
        ("", None, "is a folder"),
        ("notes.txt", b"hello", "is not a kind of file that can be queried"),
        ("broken.parquet", b"PAR1 and no more", "cannot be read as a table"),
        ("broken.db", b"SQLite format 3\0 and no more", "file is not a database"),
        ("empty.csv", b"", "is empty"),
    ],
)
def test_what_cannot_be_attached_is_told_and_leaves_the_rest(
    orders: DatabaseTool, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message) as raised:
        orders.attach(tmp_path / name)
    assert raised.value.hint
    assert asked(orders, "how many orders are there?").text == "The number of orders is 6."


def test_a_name_that_is_taken(orders: DatabaseTool, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.executescript("CREATE TABLE orders (a)")
    with pytest.raises(DataError, match="names are already taken"):
        orders.attach(tmp_path / "a.db")


def test_the_extra_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = orders_csv(tmp_path)
    for package in ("sqlglot", "duckdb"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            with pytest.raises(DataError) as raised:
                DatabaseTool().attach(path)
        assert raised.value.hint == 'pip install "turnwise[data]"'


def test_nothing_attached_means_nothing_read() -> None:
    database = DatabaseTool()
    assert asyncio.run(database.read("how many orders are there?", ())) == ""
    assert asyncio.run(database.run("SELECT 1")).error == "No data is attached."


def test_an_earlier_question_lends_what_is_left_out(orders: DatabaseTool) -> None:
    history = [Message("user", "total revenue by country"), Message("assistant", "…")]
    assert asked(orders, "and by category?", history).text.splitlines()[2] == "| Furniture | 300 |"
    assert asyncio.run(orders.read("and by category?", ())) == ""


# --- with a language model


class Scripted:
    """A language model that gives these replies in turn, and keeps what it was sent."""

    name = "scripted"

    def __init__(self, *replies: str | type[Exception]) -> None:
        self.replies = list(replies)
        self.sent: list[str] = []

    async def rewrite(self, messages: Sequence[Message], limit: int) -> str:
        self.sent.append("\n".join(message.content for message in messages))
        reply = self.replies.pop(0)
        if isinstance(reply, type):
            raise reply("it is gone")
        return reply[:limit]


def with_model(tmp_path: Path, rewriter: Rewriter) -> DatabaseTool:
    database = DatabaseTool(rewriter)
    database.attach(orders_csv(tmp_path))
    return database


def test_the_model_writes_the_query_from_the_schema(tmp_path: Path) -> None:
    model = Scripted("```sql\nSELECT MEDIAN(unit_price) AS median_price FROM orders;\n```")
    database = with_model(tmp_path, model)
    result = asked(database, "what is the median price of our orders, roughly speaking?")
    assert result.text == "The median price is 40."
    assert result.details["sql"] == "SELECT MEDIAN(unit_price) AS median_price FROM orders"
    assert "- orders: id (number), customer (text, such as Ada Ltd, Bolt GmbH" in model.sent[0]
    assert "dialect duckdb" in model.sent[0]
    model.replies.append("SELECT 1 AS a FROM orders LIMIT 1")
    asked(database, "and of the price of books?", [Message("user", "what is the median price?")])
    assert "Asked before: what is the median price?\nQuestion: and of the price of books?" in model.sent[1]


def test_columns_that_a_model_gives_no_name_are_said_in_words(orders: DatabaseTool) -> None:
    for sql, text in (
        ("SELECT COUNT(*) FROM orders", "The count is 6."),
        ("SELECT SUM(revenue) FROM orders", "The sum of revenue is 705.50."),
    ):
        assert asyncio.run(orders.run(sql)).text == text


def test_what_is_refused_or_fails_is_told_to_it_once(tmp_path: Path) -> None:
    model = Scripted("DROP TABLE orders", "SELECT COUNT(*) AS orders_made FROM orders")
    assert asked(with_model(tmp_path, model), "how many orders are there?").text == "The orders made is 6."
    assert "it does not begin with SELECT" in model.sent[1]
    model = Scripted("SELECT nothing_such FROM orders", "SELECT 1 AS one FROM orders LIMIT 1")
    asked(with_model(tmp_path, model), "how many orders are there?")
    assert "nothing_such" in model.sent[1]


@pytest.mark.parametrize(
    "replies",
    [
        ["DROP TABLE orders", "COPY orders TO 'x'"],
        ["I am sorry.", "SELECT * FROM read_csv('/etc/passwd')"],
        [ModelUnavailable],
        [RuntimeError],
        ["", ""],
    ],
)
def test_the_rules_stand_in_for_a_model_that_fails(tmp_path: Path, replies: list[str | type[Exception]]) -> None:
    database = with_model(tmp_path, Scripted(*replies))
    assert asked(database, "how many orders are there?").text == "The number of orders is 6."


def test_the_model_may_say_that_it_is_no_question_for_the_data(tmp_path: Path) -> None:
    model = Scripted("NONE.")
    assert asyncio.run(with_model(tmp_path, model).read("what is a good price for a novel?", ())) == ""
    assert len(model.sent) == 1
    assert asyncio.run(with_model(tmp_path, model).read("What is attention?", ())) == ""  # it was not asked


# --- in an engine


def test_an_engine_attaches_what_is_set_and_what_comes_later(tmp_path: Path) -> None:
    path, shop = orders_csv(tmp_path), shop_db(tmp_path)
    with turnwise.open(tmp_path / "library", data=[path]) as engine:
        assert [table.name for table in engine.data] == ["orders"]
        assert [table.name for table in engine.attach(shop)] == ["customers", "Order Lines"]
        assert [table.name for table in engine.data] == ["orders", "customers", "Order Lines"]
    assert [table.name for table in data_tool(Settings(data=f"{path}, {shop}")).tables][:2] == ["orders", "customers"]


def test_the_verbs_attach_tables_and_name_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = orders_csv(tmp_path)
    missing = CliRunner().invoke(verbs, ["ask", "hello", "--sample", "--data", "none.csv"])
    assert missing.exit_code == 1
    assert "There is no file" in missing.output
    monkeypatch.setenv("TURNWISE_DATA", str(path))
    assert f"data      orders ({path}), read-only" in CliRunner().invoke(verbs, ["doctor"]).output
    monkeypatch.setenv("TURNWISE_DATA", "postgres://me:hunter2@127.0.0.1:1/none")
    for verb in ("doctor", "config"):
        assert "hunter2" not in CliRunner().invoke(verbs, [verb]).output
    assert "FAIL  data      postgresql://127.0.0.1/none" in CliRunner().invoke(verbs, ["doctor"]).output
