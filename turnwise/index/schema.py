"""The tables of a library in SQLite, and their rows."""

from __future__ import annotations

import dataclasses
import json
import sqlite3

from turnwise.index.shared import to_hidden, to_reference
from turnwise.text import storable
from turnwise.types import DocumentInfo, Filter, Flag, Passage, Reach, Reference


def tables(tx: sqlite3.Connection) -> None:
    for statement in _TABLES:
        tx.execute(statement)


def op_log(tx: sqlite3.Connection) -> None:
    """Words are searched outside the database from now on; the log tells that index what has changed."""
    for statement in _OP_LOG:
        tx.execute(statement)


def flags(tx: sqlite3.Connection) -> None:
    """What a check found in passages and in the hidden parts of documents, and which contents are trusted."""
    for statement in _FLAGS:
        tx.execute(statement)


def reach(tx: sqlite3.Connection) -> None:
    """The tenant a document belongs to, and the conversation it is attached to."""
    for statement in _REACH:
        tx.execute(statement)


def unchecked(tx: sqlite3.Connection) -> None:
    """Find passages that no check has read without reading all of them."""
    tx.execute("CREATE INDEX unchecked ON passages (id) WHERE flag IS NULL")


def counted(tx: sqlite3.Connection) -> None:
    """Counters of the vectors of documents and the contents of collections; and their documents in order."""
    for statement in _COUNTED:
        tx.execute(statement)


MIGRATIONS = (tables, op_log, flags, reach, unchecked, counted)

# Ids are never reused (AUTOINCREMENT), so that a citation or a vector never comes to mean another passage.
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
    """CREATE TABLE vectors (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        passage_id INTEGER NOT NULL UNIQUE REFERENCES passages ON DELETE CASCADE,
        vector BLOB NOT NULL
    )""",
    "CREATE TABLE index_meta (name TEXT PRIMARY KEY, value)",
)

# The passages of a document have consecutive ids, so that a line of the log names them all by the first and the last.
# The number of a vector (vectors.seq) serves as the log of vectors made; the line that removes its passage removes it
# too. A line that removes a document and none of its passages (from 0 to -1) removes only its words.
_OP_LOG = (
    "DROP TRIGGER IF EXISTS passage_added",
    "DROP TRIGGER IF EXISTS passage_removed",
    "DROP TABLE IF EXISTS passage_words",
    "DROP INDEX IF EXISTS passages_of_document",
    "CREATE INDEX passages_in_order ON passages (document_id, position)",
    "ALTER TABLE documents ADD COLUMN collection TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE documents ADD COLUMN tags TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE documents ADD COLUMN date TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE documents ADD COLUMN reference TEXT",
    """CREATE TABLE changes (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        op TEXT NOT NULL CHECK (op IN ('add', 'remove')),
        document_id INTEGER NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL
    )""",
    """INSERT INTO changes (op, document_id, first, last)
        SELECT 'add', document_id, min(id), max(id) FROM passages GROUP BY document_id ORDER BY min(id)""",
    "CREATE TABLE pending (passage_id INTEGER PRIMARY KEY REFERENCES passages ON DELETE CASCADE)",
    "INSERT INTO pending SELECT id FROM passages WHERE id NOT IN (SELECT passage_id FROM vectors)",
    "DELETE FROM index_meta WHERE name = 'removals'",
    """INSERT INTO index_meta VALUES
        ('library', lower(hex(randomblob(16)))),
        ('documents', (SELECT count(*) FROM documents)),
        ('passages', (SELECT count(*) FROM passages)),
        ('vectors', (SELECT count(*) FROM vectors))""",
)

_FLAGS = (
    "ALTER TABLE passages ADD COLUMN flag TEXT",
    "CREATE INDEX flagged ON passages (document_id) WHERE instr(flag, '|') > 0",
    "ALTER TABLE documents ADD COLUMN hidden TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE documents ADD COLUMN content TEXT",
    "CREATE TABLE trusted (content TEXT PRIMARY KEY)",
)

_REACH = (
    "ALTER TABLE documents ADD COLUMN tenant TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE documents ADD COLUMN attached TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX documents_of_tenant ON documents (tenant, source)",
    "CREATE INDEX documents_attached ON documents (attached) WHERE attached > ''",
)

# Attachments to conversations are not counted.
COLLECTIONS = """SELECT tenant, collection, count(*), sum(passages), sum(vectors) FROM documents WHERE attached = ''
    GROUP BY tenant, collection"""

_COUNTED = (
    "ALTER TABLE documents ADD COLUMN vectors INTEGER NOT NULL DEFAULT 0",
    """UPDATE documents SET vectors = (
        SELECT count(*) FROM passages JOIN vectors ON passage_id = passages.id WHERE document_id = documents.id
    )""",
    """CREATE TABLE collections (
        tenant TEXT, collection TEXT, documents INTEGER, passages INTEGER, vectors INTEGER,
        PRIMARY KEY (tenant, collection)
    ) WITHOUT ROWID""",
    f"INSERT INTO collections {COLLECTIONS}",
    "CREATE INDEX documents_of_collection ON documents (tenant, collection, source) WHERE attached = ''",
)

# The first and the last passage of a document: ids are in the order of positions.
FIRST, LAST = (
    f"(SELECT id FROM passages WHERE document_id = documents.id ORDER BY position {order} LIMIT 1)"
    for order in ("", "DESC")
)

# Documents that are not simply the library's own. Two queries, because there is an index for each.
SCOPED = (
    "SELECT id FROM documents WHERE tenant > '' UNION ALL SELECT id FROM documents WHERE attached > '' AND +tenant = ''"
)

TRUSTED = "EXISTS (SELECT 1 FROM trusted WHERE trusted.content = documents.content) AS trusted"

# The cross join keeps SQLite from scanning all documents of a tenant for passages whose ids it has.
PASSAGES = f"""
    SELECT passages.id, document_id, passages.title, source, text, heading, page, start, "end", position, reference,
        date, flag, {TRUSTED}
    FROM passages CROSS JOIN documents ON documents.id = document_id
"""

DOCUMENTS = f"""
    SELECT id, source, title, passages, added_at, collection, tags, date, reference, hidden, tenant, attached,
        {TRUSTED}, passages - vectors AS pending
    FROM documents
"""


def to_passage(row: sqlite3.Row) -> Passage:
    """The passage in a row of PASSAGES."""
    known = {
        "reference": to_reference(row["reference"]),
        "flag": Flag.read(row["flag"]),
        "trusted": bool(row["trusted"]),
    }
    return Passage(**{**dict(row), **known})


def to_document(row: sqlite3.Row) -> DocumentInfo:
    """The document in a row of DOCUMENTS."""
    values = {**dict(row), "tags": tuple(json.loads(row["tags"])), "reference": to_reference(row["reference"])}
    return DocumentInfo(**{**values, "hidden": to_hidden(row["hidden"]), "trusted": bool(row["trusted"])})


def of_reference(reference: Reference | None) -> str | None:
    return None if reference is None else json.dumps(dataclasses.asdict(reference), ensure_ascii=False)


def condition(where: Filter) -> tuple[str, list[str]]:
    """The condition on documents for a filter, with its values."""
    parts, values = ["true"], []
    if where.collections:
        parts.append("collection IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(where.collections))
    if where.tags:
        parts.append("NOT EXISTS (SELECT value FROM json_each(?) EXCEPT SELECT value FROM json_each(tags))")
        values.append(json.dumps([storable(tag) for tag in where.tags]))
    if where.source:
        parts.append("source GLOB ?")
        values.append(where.source)
    if where.since:
        parts.append("date >= ?")
        values.append(where.since)
    if where.until:
        parts.append("date != '' AND substr(date, 1, length(?)) <= ?")
        values += [where.until, where.until]
    return " AND ".join(parts), [storable(value) for value in values]


def base(reach: Reach) -> tuple[str, list[str]]:
    """The condition for what a reach lets through except attachments to conversations, with its values."""
    clause, values = "tenant = ? AND attached = ''", [storable(reach.tenant)]
    if reach.collections:
        clause += " AND collection IN (SELECT value FROM json_each(?))"
        values.append(json.dumps([storable(each) for each in reach.collections]))
    return clause, values


def attached(reach: Reach) -> tuple[str, list[str]]:
    """The condition for the attachments that a reach lets through, with its values. They are few: the + keeps SQLite
    from looking for them among all documents of the tenant."""
    clause = "attached > '' AND attached IN (SELECT value FROM json_each(?)) AND +tenant = ?"
    return clause, [json.dumps([storable(each) for each in reach.conversations]), storable(reach.tenant)]


def within(reach: Reach | None) -> tuple[str, list[str]]:
    """The condition for all that a reach lets through, with its values."""
    if reach is None:
        return "true", []
    (own, values), (besides, more) = base(reach), attached(reach)
    return (f"({own} OR {besides})", values + more) if reach.conversations else (own, values)
