"""A small shop, as tables in every kind of file."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from turnwise.tools.database import DatabaseTool
from turnwise.types import Message, StepResult

ORDERS = """\
id,customer,country,product,category,quantity,unit_price,revenue,order_date
1,Ada Ltd,Germany,Desk Lamp,Lighting,2,40.00,80.00,2022-11-03
2,Bolt GmbH,Germany,Oak Desk,Furniture,1,300.00,300.00,2023-01-15
3,Curie SA,France,Novel,Books,5,15.00,75.00,2023-02-01
4,Ada Ltd,Germany,Novel,Books,3,15.00,45.00,2023-03-20
5,Curie SA,France,Atlas,Books,1,45.50,45.50,2023-06-11
6,Dali SL,Spain,Desk Lamp,Lighting,4,40.00,160.00,2021-07-30
"""
CUSTOMERS = """\
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT, since DATE);
INSERT INTO customers VALUES (1, 'Ada Ltd', 'Berlin', '2019-01-01'), (2, 'O''Hara & Sons', 'Paris', '2020-05-05'),
    (3, 'Bolt GmbH', 'Berlin', '2021-01-01');
CREATE TABLE "Order Lines" ("Line No" INTEGER, "unitPrice" REAL, "text" TEXT);
INSERT INTO "Order Lines" VALUES (1, 2.5, 'a [1] b | c'), (2, 7.5, NULL);
"""


def orders_csv(folder: Path) -> Path:
    path = folder / "orders.csv"
    path.write_text(ORDERS)
    return path


def shop_db(folder: Path) -> Path:
    path = folder / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(CUSTOMERS)
    return path


def things_parquet(folder: Path, rows: int = 1000) -> Path:
    import duckdb

    path = folder / "things.parquet"
    with closing(duckdb.connect()) as connection:
        query = f"SELECT range AS id, 'g' || (range % 3) AS grp, range * 1.5 AS weight FROM range({rows})"
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    return path


def asked(database: DatabaseTool, question: str, history: Sequence[Message] = ()) -> StepResult:
    """What comes of a question that the tool reads."""
    sql = asyncio.run(database.read(question, history))
    assert sql, f"not read: {question}"
    return asyncio.run(database.run(sql))
