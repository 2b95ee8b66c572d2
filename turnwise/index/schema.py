"""The tables of a library and the rows in them."""

from __future__ import annotations

import sqlite3

from turnwise.types import Passage


def tables(tx: sqlite3.Connection) -> None:
    for statement in _TABLES:
        tx.execute(statement)


MIGRATIONS = (tables,)

# Ids are never reused (AUTOINCREMENT): a citation or a vector can not come to mean another passage. The full-text
# table holds no text of its own, and triggers keep it in step whatever deletes a passage.
_TABLES = (
    """CREATE TABLE documents (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        source TEXT NOT NULL UNIQUE,
        title TEXT NOT NULL,
        hash TEXT NOT NULL,
        added_at REAL NOT NULL,
        passages INTEGER NOT NULL
    )""",
    """CREATE TABLE passages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        document_id INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
        position INTEGER NOT NULL,
        title TEXT NOT NULL,
        heading TEXT NOT NULL,
        page INTEGER,
        start INTEGER NOT NULL,
        "end" INTEGER NOT NULL,
        text TEXT NOT NULL
    )""",
    "CREATE INDEX passages_of_document ON passages (document_id)",
    """CREATE VIRTUAL TABLE passage_words USING fts5 (
        title, heading, text, content = 'passages', content_rowid = 'id', tokenize = 'porter unicode61'
    )""",
    """CREATE TRIGGER passage_added AFTER INSERT ON passages BEGIN
        INSERT INTO passage_words (rowid, title, heading, text) VALUES (new.id, new.title, new.heading, new.text);
    END""",
    """CREATE TRIGGER passage_removed AFTER DELETE ON passages BEGIN
        INSERT INTO passage_words (passage_words, rowid, title, heading, text)
        VALUES ('delete', old.id, old.title, old.heading, old.text);
    END""",
    """CREATE TABLE vectors (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        passage_id INTEGER NOT NULL UNIQUE REFERENCES passages ON DELETE CASCADE,
        vector BLOB NOT NULL
    )""",
    "CREATE TABLE index_meta (name TEXT PRIMARY KEY, value)",
    "INSERT INTO index_meta VALUES ('removals', 0)",
)

PASSAGES = """
    SELECT passages.id, document_id, passages.title, source, text, heading, page, start, "end", position
    FROM passages JOIN documents ON documents.id = document_id
"""


def to_passage(row: sqlite3.Row) -> Passage:
    """A row of PASSAGES as a value."""
    return Passage(*row)
