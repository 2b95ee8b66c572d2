"""Plain questions and the queries they are read as; and those that are not for the data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.tools.questions import MAX_QUESTION_CHARS, mentions, read_question
from turnwise.tools.sources import Column, Table
from turnwise.tools.sql_guard import check

ORDERS = Table(
    "orders",
    (
        Column("id", "number"),
        Column("customer", "text", ("Ada Ltd", "Bolt GmbH", "O'Hara & Sons")),
        Column("country", "text", ("France", "Germany", "Spain")),
        Column("product", "text", ("Desk Lamp", "Novel", "Oak Desk")),
        Column("category", "text", ("Books", "Furniture")),
        Column("quantity", "number"),
        Column("unit_price", "number"),
        Column("revenue", "number"),
        Column("order_date", "date"),
    ),
    "orders.csv",
    "orders.csv",
)
SALES = Table(
    "Sales 2023",
    (Column("Region", "text", ("North", "South")), Column("productName", "text"), Column("amount", "number")),
    "sales.csv",
    "sales.csv",
)
PRODUCTS = Table(
    "products",
    (
        Column("name", "text", ("Desk Lamp", "Oak Desk")),
        Column("category", "text", ("Books", "Toys")),
        Column("price", "number"),
        Column("stock", "number"),
    ),
    "products.csv",
    "products.csv",
)
CUSTOMERS = Table("customers", (Column("name", "text"), Column("city", "text", ("Berlin", "Paris"))), "c.csv", "c.csv")
NUMBERED = Table(
    "sales",
    (
        Column("order", "number"),
        Column("region", "text", ("East", "North", "South")),
        Column("product", "text", ("Chair", "Desk", "Lamp")),
        Column("revenue", "number"),
        Column("date", "date"),
        Column("country", "text", ("France", "Germany")),
    ),
    "sales.csv",
    "sales.csv",
)
ALL = (ORDERS, SALES, PRODUCTS, CUSTOMERS)
IN_2023 = "order_date >= '2023-01-01' AND order_date < '2024-01-01'"


def read(question: str, *tables: Table, asked: tuple[str, ...] = ()) -> str:
    return read_question(question, tables or ALL, asked).replace('"', "")


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("How many orders are there?", "SELECT COUNT(*) AS number_of_orders FROM orders"),
        ("count orders", "SELECT COUNT(*) AS number_of_orders FROM orders"),
        ("how many orders from Germany in 2023?", "country = 'Germany' AND " + IN_2023),
        ("How many orders did Ada Ltd place?", "COUNT(*) AS number_of_orders FROM orders WHERE customer = 'Ada Ltd'"),
        ("how many orders from Germany or France", "WHERE country IN ('France', 'Germany')"),
        (
            "how many different customers are there?",
            "SELECT COUNT(DISTINCT customer) AS number_of_customers FROM orders",
        ),
        ("how many countries are there", "SELECT COUNT(DISTINCT country) AS number_of_countries FROM orders"),
        (
            "number of orders per customer",
            "SELECT customer, COUNT(*) AS number_of_orders FROM orders GROUP BY customer",
        ),
        ("how many orders with a quantity of 3?", "WHERE quantity = 3"),
        ("how many orders with quantity over 1,000", "WHERE quantity > 1000"),
        ("how many orders since March 2023?", "WHERE order_date >= '2023-03-01'"),
        ("how many orders before 2023-02-28?", "WHERE order_date < '2023-02-28'"),
        ("how many orders after December 2022", "WHERE order_date >= '2023-01-01'"),
        ("how many orders between 2021 and 2022?", "order_date >= '2021-01-01' AND order_date < '2023-01-01'"),
        ("how many orders with revenue between 10 and 20?", "WHERE revenue BETWEEN 10 AND 20"),
        ("how many books cost less than 20?", "FROM products WHERE category = 'Books' AND price < 20"),
    ],
)
def test_counts(question: str, sql: str) -> None:
    tables = (PRODUCTS, CUSTOMERS) if "cost" in question else (ORDERS,)
    assert sql in read(question, *tables)


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("what is the average price?", "SELECT AVG(unit_price) AS average_unit_price, COUNT(unit_price) AS row_count"),
        ("average price of books over 20", "WHERE category = 'Books' AND unit_price > 20"),
        ("total revenue in 2023", f"COUNT(revenue) AS row_count FROM orders WHERE {IN_2023}"),
        ("how much revenue did we make in 2022?", "SELECT SUM(revenue) AS total_revenue"),
        ("what is the revenue of Bolt GmbH?", "SELECT SUM(revenue) AS total_revenue"),
        ("sum of revenue for O'Hara & Sons", "WHERE customer = 'O''Hara & Sons'"),
        ("minimum price of furniture", "MIN(unit_price) AS lowest_unit_price FROM orders WHERE category = 'Furniture'"),
        ("what is the largest quantity", "SELECT MAX(quantity) AS highest_quantity FROM orders"),
        ("what is the latest order date?", "SELECT MAX(order_date) AS latest_order_date FROM orders"),
        ("average revenue per order", "SELECT AVG(revenue) AS average_revenue"),
        (
            "highest price by category",
            "SELECT category, MAX(unit_price) AS highest_unit_price FROM orders GROUP BY category",
        ),
        ("total revenue by country", "GROUP BY country ORDER BY total_revenue DESC"),
        ("total revenue per country and category", "GROUP BY country, category"),
        ("total revenue by year", "SUBSTR(CAST(order_date AS TEXT), 1, 4) AS year"),
        ("average quantity for each category in 2023", f"WHERE {IN_2023} GROUP BY category"),
    ],
)
def test_sums_averages_and_groups(question: str, sql: str) -> None:
    assert sql in read(question, ORDERS)


@pytest.mark.parametrize(
    ("question", "table", "sql"),
    [
        ("top 5 products by sales", ORDERS, "SELECT product, SUM(revenue) AS total_revenue FROM orders"),
        ("top five products by sales", ORDERS, "ORDER BY total_revenue DESC NULLS LAST, product LIMIT 5"),
        ("bottom 3 countries by revenue", ORDERS, "ORDER BY total_revenue ASC NULLS LAST, country LIMIT 3"),
        ("top 5 products by sales", SALES, "SELECT productName, SUM(amount) AS total_amount FROM Sales 2023"),
        ("which region has the highest sales?", SALES, "RANK() OVER (ORDER BY SUM(amount) DESC"),
        ("total sales by region", SALES, "SELECT Region, SUM(amount) AS total_amount FROM Sales 2023 GROUP BY Region"),
        ("which country has the most orders?", ORDERS, "RANK() OVER (ORDER BY COUNT(*) DESC"),
        ("which category has the lowest average price?", ORDERS, "RANK() OVER (ORDER BY AVG(unit_price) ASC"),
        ("which product has the highest price?", ORDERS, "MAX(unit_price) AS highest_unit_price"),
        ("which product has the highest price?", PRODUCTS, "WHERE price = (SELECT MAX(price) FROM products)"),
        ("what is the most expensive product?", PRODUCTS, "SELECT name, price FROM products WHERE price = (SELECT"),
        ("cheapest toys", PRODUCTS, "MIN(price) AS lowest_price FROM products WHERE category = 'Toys'"),
        ("5 most expensive products", PRODUCTS, "ORDER BY price DESC NULLS LAST, name LIMIT 5"),
        ("what is the highest price of all products?", PRODUCTS, "SELECT MAX(price) AS highest_price FROM products"),
    ],
)
def test_rankings(question: str, table: Table, sql: str) -> None:
    assert sql in read(question, table)


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("list the customers in Berlin", "SELECT * FROM customers WHERE city = 'Berlin'"),
        ("Show me orders with revenue of at least 100", "SELECT * FROM orders WHERE revenue >= 100"),
        ("which orders have a quantity of 3?", "SELECT * FROM orders WHERE quantity = 3"),
        ("list the names of customers in Paris", "SELECT name FROM customers WHERE city = 'Paris'"),
        ("list all countries", "SELECT DISTINCT country FROM orders ORDER BY country"),
        ("list products sorted by price", "SELECT * FROM products ORDER BY price"),
        ("what is the price of the Oak Desk?", "SELECT DISTINCT name, price FROM products WHERE name = 'Oak Desk'"),
        ('how many orders where the customer is "Eco AB"?', "WHERE customer = 'Eco AB'"),
    ],
)
def test_lists(question: str, sql: str) -> None:
    assert sql in read(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is BERT?",
        "how many layers does BERT have?",
        "what is the price of attention?",
        "why are there so many orders?",
        "What is an order?",
        "What are the orders?",
        "how do I place an order?",
        "how many orders are not from Germany?",
        "how many orders were late?",
        "what is 15% of the average price?",
        "top customers",
        "orders over 100",
        "What is the best product for me?",
        "summarise the orders of last year",
        "thanks!",
        "",
        "?",
        "how many",
        "average",
        "by country",
        "how many orders in 2023-02-31?",
        "how many orders " * 40,
    ],
)
def test_what_is_not_for_the_data(question: str) -> None:
    assert read(question) == ""


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("How many orders are there?", "SELECT COUNT(DISTINCT order) AS number_of_orders FROM sales"),
        ("how many orders from Germany in 2023?", "SELECT COUNT(DISTINCT order) AS number_of_orders FROM sales WHERE"),
        ("total orders", "SELECT COUNT(DISTINCT order) AS number_of_orders FROM sales"),
        ("which region has the most orders?", "RANK() OVER (ORDER BY COUNT(DISTINCT order) DESC"),
        ("biggest order", "SELECT order, revenue FROM sales WHERE revenue = (SELECT MAX(revenue) FROM sales)"),
        (
            "what is the average order?",
            "SELECT AVG(revenue) AS average_revenue, COUNT(revenue) AS row_count FROM sales",
        ),
        ("average revenue per order", "SELECT AVG(revenue) AS average_revenue, COUNT(revenue) AS row_count FROM sales"),
        ("what is the revenue of order 3?", "FROM sales WHERE order = 3"),
    ],
)
def test_a_column_that_numbers_the_rows_is_counted_and_never_added_up(question: str, sql: str) -> None:
    assert sql in read(question, NUMBERED)


STAFF = Table("staff", (Column("name", "text", ("Bob",)), Column("hire_date", "date"), Column("left", "date")), "", "")


@pytest.mark.parametrize(
    ("question", "table", "sql"),
    [
        ("revenue by region", NUMBERED, "SELECT region, SUM(revenue) AS total_revenue FROM sales GROUP BY region"),
        ("revenue per country in 2023", NUMBERED, "AND date < '2024-01-01' GROUP BY country"),
        ("what is the revenue by region?", NUMBERED, "SELECT region, SUM(revenue) AS total_revenue"),
        ("sales by country", NUMBERED, "SELECT country, SUM(revenue) AS total_revenue FROM sales GROUP BY country"),
        ("orders by country", NUMBERED, "SELECT country, COUNT(DISTINCT order) AS number_of_orders"),
        ("customers by city", CUSTOMERS, "SELECT city, COUNT(*) AS number_of_customers FROM customers GROUP BY city"),
        ("median revenue", NUMBERED, "SELECT MEDIAN(revenue) AS median_revenue, COUNT(revenue) AS row_count"),
        ("median revenue by region", NUMBERED, "SELECT region, MEDIAN(revenue) AS median_revenue"),
        ("staff hired in 2021", STAFF, "SELECT * FROM staff WHERE hire_date >= '2021-01-01'"),
        ("how many staff were hired in 2021?", STAFF, "COUNT(*) AS number_of_staff FROM staff WHERE hire_date >="),
        ("price by category", PRODUCTS, ""),
    ],
)
def test_plain_words_for_sums_medians_and_dates(question: str, table: Table, sql: str) -> None:
    read_as = read(question, table)
    assert sql in read_as
    assert bool(sql) == bool(read_as)


@pytest.mark.parametrize("question", ["Who is Bob?", "show me Bob", "What is Bob?", "which Bob"])
def test_a_value_alone_is_no_question_for_the_data(question: str) -> None:
    assert read(question, STAFF) == ""
    assert read("which staff is Bob?", STAFF) == "SELECT * FROM staff WHERE name = 'Bob'"


def test_numbers_of_many_are_added_up() -> None:
    monthly = Table("months", (Column("month", "text"), Column("orders", "number")), "", "")
    assert "SUM(orders)" in read("how many orders were placed?", monthly)


def test_a_question_that_fits_two_tables_alike_is_left() -> None:
    twin = Table("returns", PRODUCTS.columns, "returns.csv", "returns.csv")
    assert read("what is the average price?", PRODUCTS, twin) == ""
    assert "FROM returns" in read("what is the average price of returns?", PRODUCTS, twin)


def test_a_whole_name_outranks_a_part_of_one() -> None:
    assert "FROM products" in read("what is the average price?", ORDERS, PRODUCTS)


def test_columns_that_are_called_like_operations() -> None:
    columns = (Column("total", "number"), Column("since", "date"), Column("value", "number"), Column("year", "number"))
    table = Table("bills", columns, "", "")
    assert "AVG(total)" in read("what is the average total?", table)
    assert "SUM(total)" in read("what is the total of total", table)
    assert "WHERE since >= '2020-01-01'" in read("how many bills since 2020", table)
    assert "MAX(value)" in read("what is the highest value?", table)
    assert "GROUP BY year" in read("average value by year", table)


def test_follow_ups_lean_on_the_question_before() -> None:
    first = "total revenue by country"
    assert "GROUP BY category" in read("and by category?", asked=(first,))
    assert f"WHERE {IN_2023} GROUP BY country" in read("and in 2023?", asked=(first,))
    assert f"WHERE {IN_2023} GROUP BY category" in read("and in 2023?", asked=(first, "and by category?"))
    assert "country = 'Spain'" in read("what about Spain?", asked=("how many orders from France?",))
    assert "France" not in read("what about Spain?", asked=("how many orders from France?",))
    assert read("and in 2023?", asked=(first, "What is BERT?")) == ""
    assert read("and by category (revenue, France)?", asked=(first,)) == read("and by category?", asked=(first,))
    assert read("and by category (revenue, France)?") == ""
    assert "COUNT(*)" in read("how many are there (orders)?")


def test_follow_ups_rank_and_work_out_what_was_asked_before() -> None:
    total, best = "total revenue by region", "top 2 products by revenue"
    ranked = read("top 1 regions by revenue", NUMBERED)
    assert read("only the top 1", NUMBERED, asked=(total,)) == ranked
    assert read("top 1", NUMBERED, asked=(total,)) == ranked
    assert "ORDER BY total_revenue ASC NULLS LAST, region LIMIT 2" in read(
        "and the bottom 2?", NUMBERED, asked=(total,)
    )
    assert read("and the average?", NUMBERED, asked=(total,)) == read("average revenue by region", NUMBERED)
    assert read("and the average by product?", NUMBERED, asked=(total,)) == read("average revenue by product", NUMBERED)
    assert read("and the maximum?", NUMBERED, asked=("total revenue",)) == read("maximum revenue", NUMBERED)
    assert read("and by region?", NUMBERED, asked=(best,)) == read(total, NUMBERED)
    assert read("and the average?", NUMBERED, asked=(best,)) == read("average revenue by product", NUMBERED)
    assert "LIMIT 2" in read("and in 2023?", NUMBERED, asked=(best,))
    assert "country = 'Germany'" in read("from Germany?", NUMBERED, asked=("how many orders are there?",))
    assert read("and the average?", NUMBERED, asked=("how many orders are there?",)) == ""
    assert read("only the top 1", NUMBERED, asked=("total revenue",)) == ""
    assert read("and by region?", NUMBERED, asked=("list sales in 2023",)) == ""
    assert read("only the top 1", NUMBERED) == ""


TICKETS = Table(
    "tickets",
    (
        Column("ticket", "text", ("T-1", "T-2")),
        Column("opened", "date"),
        Column("version", "text", ("4.10", "4.9")),
        Column("status", "text", ("closed", "open")),
        Column("price", "number"),
    ),
    "tickets.csv",
    "tickets.csv",
)


def test_a_value_as_it_is_written_outranks_a_column_of_its_stem() -> None:
    assert read("how many tickets are open?", TICKETS).endswith("FROM tickets WHERE status = 'open'")
    assert read("which tickets are open?", TICKETS) == "SELECT * FROM tickets WHERE status = 'open'"
    assert read("how many tickets were opened in 2024?", TICKETS).endswith(
        "WHERE opened >= '2024-01-01' AND opened < '2025-01-01'"
    )


def test_a_number_that_is_a_text_is_one() -> None:
    assert read("how many tickets with version 4.10?", TICKETS).endswith("WHERE version = '4.10'")
    assert read("which tickets are on 4.9?", TICKETS) == "SELECT * FROM tickets WHERE version = '4.9'"
    assert read("which tickets are on 4.3?", TICKETS) == ""


def test_a_month_without_a_year_is_that_of_any() -> None:
    july = "WHERE SUBSTR(CAST(opened AS TEXT), 6, 2) = '07'"
    assert read("how many tickets were opened in July?", TICKETS).endswith(july)
    assert read("and in July?", TICKETS, asked=("how many tickets in May?",)).endswith(july)
    assert read("how many tickets may be open?", TICKETS) == ""


def test_which_ones_lists_what_was_counted() -> None:
    counted = ("how many tickets are open?",)
    for question in ("which ones?", "which are they?", "list them", "Which?"):
        assert read(question, TICKETS, asked=counted) == "SELECT * FROM tickets WHERE status = 'open'"
    assert read("which ones?", TICKETS, asked=("what is BERT?",)) == ""
    assert read("which ones?", TICKETS) == ""


def test_a_question_that_names_nothing_of_a_table_follows_one_about_it() -> None:
    assert read("which is the cheapest?", TICKETS, asked=("Which workshops are there?",)) == ""
    assert read("what is the lowest price?", TICKETS, asked=("Which workshops are there?",)) != ""
    assert read("which is the cheapest?", TICKETS, asked=("how many tickets are open?",)) != ""


def test_whether_a_question_names_anything_of_the_tables() -> None:
    assert mentions("how are our prices doing?", ALL)
    assert mentions("is Berlin nice?", ALL)
    assert not mentions("What is attention?", ALL)


WORDS = st.sampled_from(
    """how many much what which list top 5 2023 20 the of in by per each orders order price revenue country Germany
    Books average total highest most lowest latest between and or over under since before count number distinct year
    month products customers Berlin "x" 2023-05-01 March is are sum sorted""".split()
)


@given(
    st.lists(WORDS, max_size=10).map(" ".join) | st.text(max_size=MAX_QUESTION_CHARS + 5), st.lists(WORDS).map(" ".join)
)
def test_whatever_is_asked_the_query_is_one_that_the_guard_takes(question: str, before: str) -> None:
    if sql := read_question(question, ALL, (before,)):
        check(sql, "duckdb", [table.name for table in ALL], "main")
