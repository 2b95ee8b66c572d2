"""The words of a library, searched by BM25 in files beside the database, which follow its log."""

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

VERSION = 1  # of these files: their contents, and how words are made
BROAD_FILTER_SHARE = 0.05  # a filter that lets more passages through is applied to the results, not in the search
MANY_PASSAGES = 5000  # with more at once, the writer gets more memory
FEW_OCCURRENCES = 50_000  # of words in passages: with no more, all of them are scored at once
LOOKUP_COST = 2  # of looking a word up in a passage, as a multiple of scoring one in order
STATE_ID = 0  # of the "document" that records how far the index has come; no real document has this id

log = logging.getLogger(__name__)

T = TypeVar("T")


class View(NamedTuple):
    """The index at one moment: its searcher, the library and the line of its log that it has reached, the folder it was
    opened from, and the number of passages that words are counted in, which for a while includes removed ones."""

    searcher: tantivy.Searcher
    library: str
    seq: int
    folder: int
    counted: int


class LexicalIndex:
    """The words of a library. Every search and every change brings the files up to date, and rebuilds them if they are
    missing, damaged or of another library."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder / f"lexical-{VERSION}"
        self._lock = folder / "lexical.lock"
        self._opening = threading.Lock()
        self._index: tantivy.Index | None = None
        self._opened = 0  # inode of the folder that it was opened from
        self._view: View | None = None
        self._trouble = ""  # what was wrong with the files

    def scores(self, weights: Mapping[str, float], depth: int, allowed: Allowed | None = None) -> dict[int, float]:
        """The best `depth` passages, best first, with the sum of the BM25 scores of the words times their weights."""
        if not weights or (allowed is not None and not allowed.total):
            return {}
        return self._use(lambda view: _best(_find(view, weights, depth, allowed), depth))

    def holding(self, words: Sequence[str], most: int, allowed: Allowed | None) -> list[int]:
        """The earliest passages that contain all of these words, in order."""
        wanted = [_word_query(word) for word in dict.fromkeys(words)]
        if not wanted or (allowed is not None and not allowed.total):
            return []
        return self._use(lambda view: _earliest_of(view.searcher, _all_of(*wanted), most, allowed))

    def counts(self, words: Sequence[str], allowed: Allowed | None = None) -> dict[str, int]:
        """The number of passages that contain each word, for the words that occur in an allowed passage."""
        if allowed is not None and not allowed.total:
            return {}

        def counted(view: View) -> dict[str, int]:
            searcher = view.searcher
            found = {word: searcher.doc_freq("words", word) for word in dict.fromkeys(words)}
            return {
                word: count  # includes removed passages for a while
                for word, count in found.items()
                if count and _earliest_of(searcher, _word_query(word), 1, allowed)
            }

        return self._use(counted)

    def follow(self) -> None:
        """Bring the index to the end of the log: everything written before this call is searchable when it returns."""
        self._use(lambda _: None, wait=True)

    def all_ids(self) -> list[int]:
        """Every passage in the index, in order, as many times as it is in there."""
        ids = self._use(lambda v: _earliest(v.searcher, Query.all_query(), v.searcher.num_docs), wait=True)
        return [each for each in ids if each != STATE_ID]

    def damaged_files(self) -> list[str]:
        """The files of the index whose content is not what was written. Files that a killed process left behind, and
        that no part of the index names, do not count: tantivy deletes them by itself."""
        with locked(self._lock):
            parts = _segments(self._folder) if (self._folder / "meta.json").exists() else []
            named = {part["segment_id"].replace("-", "") for part in parts}
            files = (file for file in self._folder.glob("*.*") if file.suffix in _SUMMED)
            return sorted(file.name for file in files if file.name.partition(".")[0] in named and not _is_whole(file))

    # --- following the log ----------------------------------------------------------------------------------------

    def _use(self, use: Callable[[View], T], wait: bool = False) -> T:
        """What `use` returns for the index. If the files turn out to be damaged, they are rebuilt first."""
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
        """The index at the end of the log. If another process is updating it and we need not `wait`, the index as it
        is: it already contains everything that was reported as added."""
        (latest, library), view = self._end_of_log(), self._view
        if view is not None and (view.seq, view.library) == (latest, library):
            return view
        view = self._look()
        if view is None or (view.seq, view.library) != (latest, library):
            usable = view is not None and view.library == library
            with locked(self._lock, wait or not usable) as held:
                if held:
                    view = self._update_if_possible(None if wait or not usable else view)
        assert view is not None
        self._view = view
        return view

    def _update_if_possible(self, otherwise: View | None) -> View:
        """The index at the end of the log, or `otherwise` if the disk is full: a search then finds what is there."""
        try:
            return self._update()
        except BaseException as error:
            if otherwise is None or not _is_fault(error):
                raise
            log.warning("the words of %s cannot be brought up to date: %s", self._database.path, error)
            return otherwise

    def _look(self) -> View | None:
        """The index as it is on disk, or None if there is none or it cannot be used."""
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
        """Bring the files to the end of the log. The lock must be held. The folder `broken` cannot be searched."""
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
        """Make new files beside the old ones, and swap them."""
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


def _find(view: View, weights: Mapping[str, float], depth: int, allowed: Allowed | None) -> list[tuple[int, float]]:
    """The best allowed passages with their scores: `depth` of them, or all if there are fewer."""
    searcher = view.searcher
    if allowed is None:
        return _find_in_all(view, weights, depth)
    words, share = _any_of(weights), allowed.total / max(searcher.num_docs, 1)
    if share > BROAD_FILTER_SHARE:
        found = _find_in_all(view, weights, wanted := int(2 * depth / share))
        kept = _only_allowed(found, [passage for passage, _ in found], allowed)
        if len(kept) >= depth or len(found) < wanted:
            return kept
    return _search(searcher, _limited_to(words, allowed), depth)


def _find_in_all(view: View, weights: Mapping[str, float], most: int) -> list[tuple[int, float]]:
    """The best of all passages. In a large library, most of the work is scoring passages that contain only frequent
    words. So the others are scored first. If the worst result already scores more than frequent words can give, they
    are all that is needed; else the next words are included, if that is less work than scoring everything."""
    searcher = view.searcher
    often = {word: count for word in weights if (count := searcher.doc_freq("words", word))}
    rarest = sorted(often, key=often.__getitem__)
    gives = [weights[word] * _max_score(often[word], view.counted) for word in rarest]
    together = list(accumulate(often[word] for word in rarest))
    all_of_it, work = together[-1] if together else 0, 0
    needed = next((n for n, count in enumerate(together, 1) if count >= most), len(rarest))
    while all_of_it > FEW_OCCURRENCES and needed < len(rarest):
        others = rarest[needed:]
        work += together[needed - 1] * (1 + LOOKUP_COST * len(others))
        if work > all_of_it:
            break
        query = _any_of({word: weights[word] for word in rarest[:needed]})
        for word in others:
            query = Query.boolean_query([(Occur.Must, query), (Occur.Should, _weighted_word(word, weights[word]))])
        found = _search(searcher, query, most)
        least = found[-1][1] if len(found) == most else 0.0
        if least >= sum(gives[needed:]):
            return found
        needed = next((n for n in range(needed + 1, len(rarest)) if sum(gives[n:]) <= least), len(rarest))
    return _search(searcher, _any_of(weights), most)


def _max_score(often: int, counted: int) -> float:
    """The most that a word can add to a passage by tantivy's BM25, whose k1 is 1.2, however often it occurs there."""
    return 2.2 * math.log(1 + (counted - often + 0.5) / (often + 0.5))


def _any_of(weights: Mapping[str, float]) -> Query:
    return Query.boolean_query([(Occur.Should, _weighted_word(word, weight)) for word, weight in weights.items()])


def _weighted_word(word: str, weight: float) -> Query:
    return Query.boost_query(_word_query(word), weight)


def _only_allowed(found: Sequence[T], passages: Sequence[int], allowed: Allowed) -> list[T]:
    """The results whose passages are allowed."""
    return [each for each, fits in zip(found, allowed.has(np.array(passages, np.int64)), strict=True) if fits]


def _limited_to(query: Query, allowed: Allowed) -> Query:
    """The query, limited to what is allowed."""
    named = Query.const_score_query(Query.term_set_query(_schema(), "document", allowed.documents), 0.0)
    return Query.boolean_query([(Occur.Must, query), (Occur.MustNot if allowed.others else Occur.Must, named)])


def _search(searcher: tantivy.Searcher, query: Query, most: int) -> list[tuple[int, float]]:
    hits = searcher.search(query, most, count=False).hits
    ids = searcher.fast_field_values("id", [address for _, address in hits])
    return [(int(passage or 0), score) for passage, (score, _) in zip(ids, hits, strict=True)]


def _best(found: list[tuple[int, float]], depth: int) -> dict[int, float]:
    return dict(sorted(found, key=lambda each: (-each[1], each[0]))[:depth])


def _earliest_of(searcher: tantivy.Searcher, query: Query, most: int, allowed: Allowed | None) -> list[int]:
    """The earliest allowed passages."""
    if allowed is None:
        return _earliest(searcher, query, most)
    if allowed.total > BROAD_FILTER_SHARE * searcher.num_docs:
        found = _earliest(searcher, query, wanted := 2 * most + 100)
        kept = _only_allowed(found, found, allowed)
        if len(kept) >= most or len(found) < wanted:
            return kept[:most]
    return _earliest(searcher, _limited_to(query, allowed), most)


def _earliest(searcher: tantivy.Searcher, query: Query, most: int) -> list[int]:
    hits = searcher.search(query, most, count=False, order_by_field="id", order=tantivy.Order.Asc).hits
    return [int(each or 0) for each in searcher.fast_field_values("id", [address for _, address in hits])]


def _word_query(word: str) -> Query:
    return Query.term_query(_schema(), "words", word, "freq")


def _all_of(*queries: Query) -> Query:
    return Query.boolean_query([(Occur.Must, query) for query in queries])


# --- writing ------------------------------------------------------------------------------------------------------


def _schema() -> tantivy.Schema:
    return _SCHEMA


def _build_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("words", tokenizer_name="whitespace", index_option="freq")
    builder.add_integer_field("id", fast=True)  # of the passage
    builder.add_integer_field("document", indexed=True)
    builder.add_text_field("state", stored=True, tokenizer_name="raw", index_option="basic")
    return builder.build()


_SCHEMA = _build_schema()


def _write(index: tantivy.Index, tx: sqlite3.Connection, library: str, latest: int, since: int | None) -> None:
    """Write the changes after `since`, or all passages. The position in the log is part of the same commit, so that a
    process that dies leaves either the old or the new state."""
    touched = "" if since is None else f"WHERE document_id IN (SELECT document_id FROM changes WHERE seq > {since})"
    (many,) = tx.execute(f"SELECT count(*) FROM passages {touched}").fetchone()
    writer = index.writer(128_000_000 if many > MANY_PASSAGES else 15_000_000, 1)
    try:
        writer.garbage_collect_files()  # of a process that died before its commit; the next would fail on them
        writer.delete_documents_by_term("document", STATE_ID)
        for row in tx.execute("SELECT DISTINCT document_id FROM changes WHERE seq > ? AND op = 'remove'", (since,)):
            writer.delete_documents_by_term("document", row["document_id"])
        for row in tx.execute(
            "SELECT passages.id, document_id, passages.title, heading, text, reference"
            f" FROM passages JOIN documents ON documents.id = document_id {touched}"
        ):
            writer.add_document(_document(row["id"], row["document_id"], words=_words_of(row)))
        writer.add_document(_document(STATE_ID, STATE_ID, state=json.dumps([library, latest])))
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


def _words_of(row: sqlite3.Row) -> str:
    text = searched_text(row["title"], row["heading"], row["text"], to_reference(row["reference"]))
    return " ".join(indexed_words(text))


def _state(searcher: tantivy.Searcher) -> tuple[str, int]:
    ((_, address),) = searcher.search(Query.term_query(_schema(), "document", STATE_ID, "basic"), 2).hits
    library, seq = json.loads(searcher.doc(address)["state"][0])
    return str(library), int(seq)


def _segments(folder: Path) -> list[dict[str, Any]]:
    """What tantivy's metadata says about the segments of an index."""
    parts: list[dict[str, Any]] = json.loads((folder / "meta.json").read_text())["segments"]
    return parts


def _end_of_log(tx: sqlite3.Connection) -> tuple[int, str, int]:
    row = tx.execute(
        "SELECT (SELECT coalesce(max(seq), 0) FROM changes), (SELECT value FROM index_meta WHERE name = 'library'),"
        " (SELECT value FROM index_meta WHERE name = 'passages')"
    ).fetchone()
    return int(row[0]), str(row[1]), int(row[2])


def _is_fault(error: BaseException) -> bool:
    """Whether the files are to blame: tantivy raises ValueError, or panics if it trusted what it read."""
    return isinstance(error, (OSError, ValueError, KeyError)) or type(error).__name__ == "PanicException"


_SUMMED = {".idx", ".term", ".store", ".fast", ".fieldnorm", ".pos", ".del"}


def _is_whole(file: Path) -> bool:
    """Whether a file of tantivy matches the checksum in its footer: JSON, its length and a mark, four bytes each."""
    data = file.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    try:
        return int(json.loads(data[-8 - length : -8])["crc"]) == zlib.crc32(data[: -8 - length])
    except (ValueError, KeyError):
        return False
