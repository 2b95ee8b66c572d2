"""The words of a library, searched by BM25 in files beside the database that follow its log."""

from __future__ import annotations

import json
import logging
import math
import sqlite3
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import tantivy
from tantivy import Occur, Query

from turnwise.errors import LibraryError
from turnwise.index.allowed import Allowed
from turnwise.index.files import clear, fresh_folder, locked, publish
from turnwise.index.shared import to_reference
from turnwise.index.words import indexed_words, searched_text
from turnwise.sqlite import Database, reported

VERSION = 1  # of these files: of what they hold, and of how words are made
BROAD = 0.05  # a filter that lets through more than this share is applied to what was found, and not in the search
MANY = 5000  # passages at once for which the writer gets more memory
LITTLE = 50_000  # times that words stand in passages, so few that all of them are scored at once
LOOKED_UP = 2  # what it costs to look a word up in a passage, as a multiple of scoring one in order
STATE = 0  # the "document" that says how far the index has come; no document has this id

log = logging.getLogger(__name__)

T = TypeVar("T")


class View(NamedTuple):
    """The index at one moment: what searches it, up to which line of which library's log it has come, the folder
    it was opened from, and how many passages its words are counted in: removed ones for a while too."""

    searcher: tantivy.Searcher
    library: str
    seq: int
    folder: int
    counted: int


class LexicalIndex:
    """The words of a library. Whoever looks at them or changes them brings the files up to date, and makes them again
    where they are missing, damaged or of another library."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder / f"lexical-{VERSION}"
        self._lock = folder / "lexical.lock"
        self._opening = threading.Lock()
        self._index: tantivy.Index | None = None
        self._opened = 0  # the folder that it was opened from
        self._view: View | None = None
        self._trouble = ""  # what was wrong with the files

    def scores(self, weights: Mapping[str, float], depth: int, allowed: Allowed | None = None) -> dict[int, float]:
        """The sum of the BM25 of those words times their weights, of the best `depth` passages, the best first."""
        if not weights or (allowed is not None and not allowed.total):
            return {}
        return self._used(lambda view: _best(_found(view, weights, depth, allowed), depth))

    def holding(self, words: Sequence[str], most: int, allowed: Allowed | None = None) -> list[int]:
        """The earliest passages that hold all of these words, in order."""
        wanted = [_word(word) for word in dict.fromkeys(words)]
        if not wanted or (allowed is not None and not allowed.total):
            return []
        return self._used(lambda view: _earliest_of(view.searcher, _all_of(*wanted), most, allowed))

    def counts(self, words: Sequence[str], allowed: Allowed | None = None) -> dict[str, int]:
        """In how many passages each of these words stands, of those that one of the allowed passages has."""
        if allowed is not None and not allowed.total:
            return {}

        def counted(view: View) -> dict[str, int]:
            searcher = view.searcher
            found = {word: searcher.doc_freq("words", word) for word in dict.fromkeys(words)}
            return {
                word: count  # what was removed is counted for a while
                for word, count in found.items()
                if count and _earliest_of(searcher, _word(word), 1, allowed)
            }

        return self._used(counted)

    def follow(self) -> None:
        """Bring the index to the end of the log: what was written before is searchable when this returns."""
        self._used(lambda _: None, wait=True)

    def all_ids(self) -> list[int]:
        """Every passage that the index holds, in order, as often as it holds it."""
        ids = self._used(lambda v: _earliest(v.searcher, Query.all_query(), v.searcher.num_docs), wait=True)
        return [each for each in ids if each != STATE]

    def damaged_files(self) -> list[str]:
        """The files of the index whose content is not what was written. What a process left that was killed while it
        wrote, and no part of the index names, is none of them: tantivy takes it away by itself."""
        with locked(self._lock):
            parts = _segments(self._folder) if (self._folder / "meta.json").exists() else []
            named = {part["segment_id"].replace("-", "") for part in parts}
            files = (file for file in self._folder.glob("*.*") if file.suffix in _SUMMED)
            return sorted(file.name for file in files if file.name.partition(".")[0] in named and not _whole(file))

    # --- following the log ----------------------------------------------------------------------------------------

    def _used(self, use: Callable[[View], T], wait: bool = False) -> T:
        """What `use` gives of the index. Where its files turn out to be damaged it is made again first."""
        view = None
        try:
            view = self._up_to_date(wait)
            return use(view)
        except BaseException as error:
            if not _is_fault(error):
                raise
            self._trouble = str(error)
        try:
            with locked(self._lock):
                view = self._update(broken=view.folder if view else None)
            return use(view)
        except BaseException as error:
            if not _is_fault(error):
                raise
            raise LibraryError(
                f"The words of {self._database.path} cannot be searched: {error}",
                f"Check that the disk has room and that {self._folder.parent} can be written.",
            ) from error

    def _up_to_date(self, wait: bool) -> View:
        """The index as the log now stands. Where another is at work on it and we need not `wait`, what is there: all
        that anyone was told to be in is in that already."""
        (latest, library), view = self._end_of_log(), self._view
        if view is not None and (view.seq, view.library) == (latest, library):
            return view
        view = self._look()
        if view is None or (view.seq, view.library) != (latest, library):
            usable = view is not None and view.library == library
            with locked(self._lock, wait or not usable) as held:
                if held:
                    view = self._updated(None if wait or not usable else view)
        assert view is not None
        self._view = view
        return view

    def _updated(self, otherwise: View | None) -> View:
        """The index at the end of the log, or `otherwise` where the disk is full: a search finds what there is."""
        try:
            return self._update()
        except BaseException as error:
            if otherwise is None or not _is_fault(error):
                raise
            log.warning("the words of %s cannot be brought up to date: %s", self._database.path, error)
            return otherwise

    def _look(self) -> View | None:
        """The index as it is on disk, None where there is none that can be used."""
        with self._opening:
            try:
                folder = self._folder.stat().st_ino
                if self._index is None or self._opened != folder:
                    self._index = tantivy.Index.open(str(self._folder))
                    self._index.config_reader("manual")
                    self._opened = folder
                self._index.reload()
                searcher = self._index.searcher()
                counted = sum(int(part["max_doc"]) for part in _segments(self._folder))
                return View(searcher, *_state(searcher), folder, counted)
            except FileNotFoundError:
                return None
            except BaseException as error:
                self._index = None
                if not _is_fault(error):
                    raise
                self._trouble = str(error)
                return None

    def _update(self, broken: int | None = None) -> View:
        """Bring the files to the end of the log; the lock is held. `broken` is a folder that cannot be searched."""
        view = self._look()
        with self._database.read() as tx:
            latest, library, passages = _end_of_log(tx)
            usable = view is not None and view.library == library and view.seq <= latest and view.folder != broken
            if usable and view is not None and view.seq < latest and self._index is not None:
                try:
                    _write(self._index, tx, library, latest, view.seq)
                    view = self._look()
                except BaseException as error:
                    if not _is_fault(error):
                        raise
                    self._trouble, usable = str(error), False
            if not usable or view is None or view.searcher.num_docs != passages + 1:
                self._rebuild(tx, library, latest)
                view = self._look()
        if view is None:
            raise OSError(f"{self._folder} cannot be read back")
        self._view = view
        return view

    def _rebuild(self, tx: sqlite3.Connection, library: str, latest: int) -> None:
        """Make the files anew beside the old ones, and swap them."""
        if self._folder.exists():
            trouble = self._trouble or "it is not of these passages"
            log.warning("the word index of %s is made again: %s", self._database.path, trouble)
        else:
            log.info("the word index of %s is made", self._database.path)
        self._trouble = ""
        temporary = fresh_folder(self._folder.with_name("lexical.new"))
        _write(tantivy.Index(_schema(), path=str(temporary), reuse=False), tx, library, latest, None)
        publish(temporary, self._folder)
        for old in self._folder.parent.glob("lexical-*"):
            if old != self._folder:
                clear(old)

    def _end_of_log(self) -> tuple[int, str]:
        with reported(self._database.path):
            latest, library, _ = _end_of_log(self._database.connection())
        return latest, library


# --- searching ----------------------------------------------------------------------------------------------------


def _found(view: View, weights: Mapping[str, float], depth: int, allowed: Allowed | None) -> list[tuple[int, float]]:
    """The best passages with their scores: `depth` of those allowed, or all where there are fewer."""
    searcher = view.searcher
    if allowed is None:
        return _among_all(view, weights, depth)
    words, share = _any_of(weights), allowed.total / max(searcher.num_docs, 1)
    if share > BROAD:
        found = _among_all(view, weights, wanted := int(2 * depth / share))
        kept = _allowed_of(found, [passage for passage, _ in found], allowed)
        if len(kept) >= depth or len(found) < wanted:
            return kept
    return _scored(searcher, _among(words, allowed), depth)


def _among_all(view: View, weights: Mapping[str, float], most: int) -> list[tuple[int, float]]:
    """The best of all passages. In a large library most of the work is to score those that have nothing but frequent
    words. So the others are scored first, and where the least of the best has more than such words can give at
    most, that is all; else some more are, as many as are needed for sure, where that is less work than to score all."""
    searcher = view.searcher
    often = {word: count for word in weights if (count := searcher.doc_freq("words", word))}
    rarest = sorted(often, key=often.__getitem__)
    gives = [weights[word] * _most(often[word], view.counted) for word in rarest]
    together = list(accumulate(often[word] for word in rarest))
    all_of_it, work = together[-1] if together else 0, 0
    needed = next((n for n, count in enumerate(together, 1) if count >= most), len(rarest))
    while all_of_it > LITTLE and needed < len(rarest):
        others = rarest[needed:]
        work += together[needed - 1] * (1 + LOOKED_UP * len(others))
        if work > all_of_it:
            break
        query = _any_of({word: weights[word] for word in rarest[:needed]})
        for word in others:
            query = Query.boolean_query([(Occur.Must, query), (Occur.Should, _weighed(word, weights[word]))])
        found = _scored(searcher, query, most)
        least = found[-1][1] if len(found) == most else 0.0
        if least >= sum(gives[needed:]):
            return found
        needed = next((n for n in range(needed + 1, len(rarest)) if sum(gives[n:]) <= least), len(rarest))
    return _scored(searcher, _any_of(weights), most)


def _most(often: int, counted: int) -> float:
    """What a word gives a passage at most by tantivy's BM25, however often it stands there: its k1 is 1.2."""
    return 2.2 * math.log(1 + (counted - often + 0.5) / (often + 0.5))


def _any_of(weights: Mapping[str, float]) -> Query:
    return Query.boolean_query([(Occur.Should, _weighed(word, weight)) for word, weight in weights.items()])


def _weighed(word: str, weight: float) -> Query:
    return Query.boost_query(_word(word), weight)


def _allowed_of(found: Sequence[T], passages: Sequence[int], allowed: Allowed) -> list[T]:
    """Of what was found, in these passages, what is allowed."""
    return [each for each, fits in zip(found, allowed.has(np.array(passages, np.int64)), strict=True) if fits]


def _among(query: Query, allowed: Allowed) -> Query:
    """The query, of what is allowed."""
    named = Query.const_score_query(Query.term_set_query(_schema(), "document", allowed.documents), 0.0)
    return Query.boolean_query([(Occur.Must, query), (Occur.MustNot if allowed.others else Occur.Must, named)])


def _scored(searcher: tantivy.Searcher, query: Query, most: int) -> list[tuple[int, float]]:
    hits = searcher.search(query, most, count=False).hits
    ids = searcher.fast_field_values("id", [address for _, address in hits])
    return [(int(passage or 0), score) for passage, (score, _) in zip(ids, hits, strict=True)]


def _best(found: list[tuple[int, float]], depth: int) -> dict[int, float]:
    return dict(sorted(found, key=lambda each: (-each[1], each[0]))[:depth])


def _earliest_of(searcher: tantivy.Searcher, query: Query, most: int, allowed: Allowed | None) -> list[int]:
    """The earliest of what is allowed."""
    if allowed is None:
        return _earliest(searcher, query, most)
    if allowed.total > BROAD * searcher.num_docs:
        found = _earliest(searcher, query, wanted := 2 * most + 100)
        kept = _allowed_of(found, found, allowed)
        if len(kept) >= most or len(found) < wanted:
            return kept[:most]
    return _earliest(searcher, _among(query, allowed), most)


def _earliest(searcher: tantivy.Searcher, query: Query, most: int) -> list[int]:
    hits = searcher.search(query, most, count=False, order_by_field="id", order=tantivy.Order.Asc).hits
    return [int(each or 0) for each in searcher.fast_field_values("id", [address for _, address in hits])]


def _word(word: str) -> Query:
    return Query.term_query(_schema(), "words", word, "freq")


def _all_of(*queries: Query) -> Query:
    return Query.boolean_query([(Occur.Must, query) for query in queries])


# --- writing ------------------------------------------------------------------------------------------------------


def _schema() -> tantivy.Schema:
    return _SCHEMA


def _made_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("words", tokenizer_name="whitespace", index_option="freq")
    builder.add_integer_field("id", fast=True)  # of the passage
    builder.add_integer_field("document", indexed=True)
    builder.add_text_field("state", stored=True, tokenizer_name="raw", index_option="basic")
    return builder.build()


_SCHEMA = _made_schema()


def _write(index: tantivy.Index, tx: sqlite3.Connection, library: str, latest: int, since: int | None) -> None:
    """Write what the log says after `since`, or all passages. How far that is goes with it in the same commit, so that
    a process that dies leaves the index at the one or the other."""
    touched = "" if since is None else f"WHERE document_id IN (SELECT document_id FROM changes WHERE seq > {since})"
    (many,) = tx.execute(f"SELECT count(*) FROM passages {touched}").fetchone()
    writer = index.writer(128_000_000 if many > MANY else 15_000_000, 1)
    try:
        writer.garbage_collect_files()  # of a process that died before its commit; the next would stumble over them
        writer.delete_documents_by_term("document", STATE)
        for row in tx.execute("SELECT DISTINCT document_id FROM changes WHERE seq > ? AND op = 'remove'", (since,)):
            writer.delete_documents_by_term("document", row["document_id"])
        for row in tx.execute(
            "SELECT passages.id, document_id, passages.title, heading, text, reference"
            f" FROM passages JOIN documents ON documents.id = document_id {touched}"
        ):
            writer.add_document(_document(row["id"], row["document_id"], words=_words(row)))
        writer.add_document(_document(STATE, STATE, state=json.dumps([library, latest])))
        writer.commit()
    finally:
        writer.wait_merging_threads()


def _document(passage: int, document: int, **texts: str) -> tantivy.Document:
    made = tantivy.Document()
    made.add_integer("id", passage)
    made.add_integer("document", document)
    for name, text in texts.items():
        made.add_text(name, text)
    return made


def _words(row: sqlite3.Row) -> str:
    text = searched_text(row["title"], row["heading"], row["text"], to_reference(row["reference"]))
    return " ".join(indexed_words(text))


def _state(searcher: tantivy.Searcher) -> tuple[str, int]:
    ((_, address),) = searcher.search(Query.term_query(_schema(), "document", STATE, "basic"), 2).hits
    library, seq = json.loads(searcher.doc(address)["state"][0])
    return str(library), int(seq)


def _segments(folder: Path) -> list[dict[str, Any]]:
    """What tantivy says of the parts of an index."""
    parts: list[dict[str, Any]] = json.loads((folder / "meta.json").read_text())["segments"]
    return parts


def _end_of_log(tx: sqlite3.Connection) -> tuple[int, str, int]:
    row = tx.execute(
        "SELECT (SELECT coalesce(max(seq), 0) FROM changes), (SELECT value FROM index_meta WHERE name = 'library'),"
        " (SELECT value FROM index_meta WHERE name = 'passages')"
    ).fetchone()
    return int(row[0]), str(row[1]), int(row[2])


def _is_fault(error: BaseException) -> bool:
    """Whether it is the files' fault: tantivy raises ValueError, and panics where it trusted what it read."""
    return isinstance(error, (OSError, ValueError, KeyError)) or type(error).__name__ == "PanicException"


_SUMMED = {".idx", ".term", ".store", ".fast", ".fieldnorm", ".pos", ".del"}


def _whole(file: Path) -> bool:
    """Whether a file of tantivy's still has the sum in its footer: JSON, its length and a mark of four bytes each."""
    data = file.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    try:
        return int(json.loads(data[-8 - length : -8])["crc"]) == zlib.crc32(data[: -8 - length])
    except (ValueError, KeyError):
        return False
