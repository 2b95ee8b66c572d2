"""BM25 over postings in plain tables of PostgreSQL, exact and without an extension.

Passages written together form a segment: one row per word, with all its passages packed as (passage, count, length). A
search fetches the rows of its words and adds up the scores in Python, which is ten times as fast as doing it in SQL row
by row. Segments are never changed; now and then many small ones are merged into one, without removed passages. Lengths
are stored in a byte, rounded down as in Lucene and tantivy, so that the rankings are the same.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwise.postgres import LOCK_CLASS

if TYPE_CHECKING:
    import numpy.typing as npt

    from turnwise.postgres import Connection, Database

    Integers = npt.NDArray[np.int32]
    Floats = npt.NDArray[np.float64]

K1, B = 1.2, 0.75
MAX_WORD_CHARS = 200  # the rest of a longer word is ignored
SEGMENTS_PER_MERGE = 8  # of about the same size
WORDS_AT_ONCE = 2000  # words
MAX_ID_RANGE = 4_000_000  # of passages: up to this, scores are added up in a plain array

ENTRY = np.dtype([("passage", "<i4"), ("count", "u1"), ("length", "u1")])
_PACKED = struct.Struct("<iBB")
# The lengths that a byte can represent: every one up to 40, then fewer and fewer.
LENGTHS = [n if n < 24 else 24 + ((n - 24) if n < 32 else (8 | n & 7) << ((n - 24 >> 3) - 1)) for n in range(256)]


class State(NamedTuple):
    """The totals of the segments, removed passages included."""

    passages: int
    words: int


def write_segment(tx: Connection, passages: Iterable[tuple[int, Sequence[str]]]) -> None:
    """Make passages, given as ids and words, searchable."""
    entries: dict[str, bytearray] = defaultdict(bytearray)
    count = total = 0
    for passage, words in passages:
        length = bisect_right(LENGTHS, len(words)) - 1
        for word, times in Counter(words).items():
            entries[word[:MAX_WORD_CHARS]] += _PACKED.pack(passage, min(times, 255), length)
        count, total = count + 1, total + len(words)
    if count:
        segment = _new_segment(tx, count, total)
        _copy_in(tx, segment, entries.items())


def write_removed(tx: Connection, passages: Sequence[int]) -> None:
    tx.execute("INSERT INTO removed SELECT unnest(%s::integer[]) ON CONFLICT DO NOTHING", (list(passages),))


def fetch(connection: Connection, words: Iterable[str]) -> dict[str, npt.NDArray[Any]]:
    """The entries of the words that occur in any passage."""
    wanted = list(dict.fromkeys(word[:MAX_WORD_CHARS] for word in words))
    rows = connection.cursor(binary=True).execute(
        "SELECT word, entries FROM segments JOIN postings ON segment = segments.id AND word = ANY(%s)"
        " ORDER BY word, segment",
        (wanted,),
    )
    found: dict[str, list[bytes]] = defaultdict(list)
    for row in rows:
        found[row["word"]].append(row["entries"])
    return {word: np.frombuffer(b"".join(parts), dtype=ENTRY) for word, parts in found.items()}


def rarest(connection: Connection, words: Iterable[str], count: int) -> list[str]:
    """The `count` words that occur in the fewest passages, or none if one of the words occurs nowhere."""
    wanted = list(dict.fromkeys(word[:MAX_WORD_CHARS] for word in words))
    rows = connection.execute(
        "SELECT word FROM segments JOIN postings ON segment = segments.id AND word = ANY(%s)"
        " GROUP BY word ORDER BY sum(octet_length(entries)), word",
        (wanted,),
    ).fetchall()
    return [row["word"] for row in rows[:count]] if len(rows) == len(wanted) else []


class Scores(NamedTuple):
    """Passages that contain a word of the question, and their scores."""

    passages: Integers
    scores: Floats

    def best(self, count: int) -> dict[int, float]:
        """The passages with the highest scores, and these. Of equal ones, the earlier comes first."""
        chosen: npt.NDArray[np.intp] | slice = slice(None)
        if count < len(self.scores):
            least = np.partition(self.scores, -count)[-count]
            chosen = np.flatnonzero(self.scores >= least)
        passages, scores = self.passages[chosen], self.scores[chosen]
        order = np.lexsort((passages, -scores))[:count]
        return dict(zip(passages[order].tolist(), scores[order].tolist(), strict=True))


def bm25(
    weights: Mapping[str, float], entries: Mapping[str, npt.NDArray[Any]], state: State, only: Integers | None = None
) -> Scores:
    """The scores of all passages that contain one of the weighted words; with `only`, limited to those."""
    factors = K1 * (1 - B + B * np.array(LENGTHS) / max(state.words / max(state.passages, 1), 1e-9))
    parts: list[tuple[Integers, Floats]] = []
    for word, weight in weights.items():
        if (of_word := entries.get(word[:MAX_WORD_CHARS])) is None:
            continue
        rarity = math.log(1 + (max(state.passages - len(of_word), 0) + 0.5) / (len(of_word) + 0.5))
        if only is not None:
            of_word = of_word[np.isin(of_word["passage"], only)]
        counts = of_word["count"].astype(np.float64)
        parts.append((of_word["passage"], weight * rarity * (K1 + 1) * counts / (counts + factors[of_word["length"]])))
    if not any(len(passages) for passages, _ in parts):
        return Scores(np.empty(0, np.int32), np.empty(0))
    passages, scores = (np.concatenate(each) for each in zip(*parts, strict=True))
    least = int(passages.min())
    if int(passages.max()) - least > MAX_ID_RANGE:
        known, places = np.unique(passages, return_inverse=True)
        return Scores(known, _sums(places, scores))
    totals = _sums(passages - least, scores)
    places = np.flatnonzero(totals)
    return Scores((places + least).astype(np.int32), totals[places])


def _sums(places: npt.NDArray[Any], values: Floats) -> Floats:
    sums: Floats = np.bincount(places, values)  # type: ignore[assignment]
    return sums


# --- keeping segments few -----------------------------------------------------------------------------------------


def tidy(database: Database) -> None:
    """Merge many small segments into one, and drop removed passages if there are many. Only one process does this at a
    time; searches and writes continue meanwhile."""
    while True:
        with database.write() as tx:
            found = tx.execute(
                "SELECT pg_try_advisory_xact_lock(%s, hashtext('segments')) AS free", (LOCK_CLASS,)
            ).fetchone()
            if not found or not found["free"]:
                return
            if not _is_due(tx):
                return
            removed, segments = _removed_and_segments(tx)
            if due := due_segments(segments, len(removed)):  # others may have written in the meantime
                _merge(tx, due, removed, everything=len(due) == len(segments))


def forget(tx: Connection, passages: Sequence[int]) -> None:
    """Drop these passages, if they were removed before, from the segments."""
    found = tx.execute("SELECT FROM removed WHERE passage_id = ANY(%s) LIMIT 1", (list(passages),)).fetchone()
    if found is not None:
        tx.execute("SELECT pg_advisory_xact_lock(%s, hashtext('segments'))", (LOCK_CLASS,))
        removed, segments = _removed_and_segments(tx)
        _merge(tx, list(segments), removed, everything=True)


def _is_due(tx: Connection) -> bool:
    """Whether there are segments to merge. Called after every write, so it reads only numbers."""
    row = tx.execute("SELECT count(*) AS removed FROM removed").fetchone()
    assert row is not None
    return bool(due_segments(_segments(tx), row["removed"]))


def _segments(tx: Connection) -> dict[int, int]:
    return {row["id"]: row["passages"] for row in tx.execute("SELECT id, passages FROM segments")}


def _removed_and_segments(tx: Connection) -> tuple[Integers, dict[int, int]]:
    """Read in this order, so that the segment of every removed passage is among those seen."""
    removed = np.array([row["passage_id"] for row in tx.execute("SELECT passage_id FROM removed")], dtype=np.int32)
    return removed, _segments(tx)


def due_segments(segments: Mapping[int, int], removed: int) -> list[int]:
    """The segments to merge, given their sizes: all if a fifth was removed, else many of about the same size."""
    if removed * 5 > sum(segments.values()):
        return list(segments)
    sizes: dict[int, list[int]] = defaultdict(list)
    for segment, passages in segments.items():
        sizes[int(math.log(max(passages, 1), SEGMENTS_PER_MERGE))].append(segment)
    return next((sizes[size] for size in sorted(sizes) if len(sizes[size]) >= SEGMENTS_PER_MERGE), [])


def _merge(tx: Connection, segments: Sequence[int], removed: Integers, everything: bool) -> None:
    old = tx.execute(
        "SELECT coalesce(sum(passages), 0)::integer AS passages, coalesce(sum(words), 0)::bigint AS words"
        " FROM segments WHERE id = ANY(%s)",
        (segments,),
    ).fetchone()
    assert old is not None
    new = _new_segment(tx, 0, 0)
    dropped: list[npt.NDArray[Any]] = [np.empty(0, ENTRY)]
    with tx.cursor("merged", binary=True) as cursor:
        cursor.execute(
            "SELECT word, string_agg(entries, ''::bytea ORDER BY segment) AS entries FROM postings"
            " WHERE segment = ANY(%s) GROUP BY word",
            (segments,),
        )
        while rows := cursor.fetchmany(WORDS_AT_ONCE):
            kept: list[tuple[str, bytes]] = []
            for row in rows:
                entries = np.frombuffer(row["entries"], dtype=ENTRY)
                if len(removed):
                    alive = ~np.isin(entries["passage"], removed)
                    dropped.append(entries[~alive])
                    entries = entries[alive]
                if len(entries):
                    kept.append((row["word"], entries.tobytes()))
            _copy_in(tx, new, kept)
    left_out = np.concatenate(dropped)
    gone = removed if everything else np.unique(left_out["passage"])
    tx.execute("DELETE FROM postings WHERE segment = ANY(%s)", (segments,))
    tx.execute("DELETE FROM segments WHERE id = ANY(%s)", (segments,))
    tx.execute("DELETE FROM removed WHERE passage_id = ANY(%s)", (gone.tolist(),))
    tx.execute(
        "UPDATE segments SET passages = %s, words = %s WHERE id = %s",
        (max(old["passages"] - len(gone), 0), max(old["words"] - int(left_out["count"].sum()), 0), new),
    )
    if everything and old["passages"] <= len(gone):
        tx.execute("DELETE FROM segments WHERE id = %s", (new,))


def _new_segment(tx: Connection, passages: int, words: int) -> int:
    row = tx.execute(
        "INSERT INTO segments (passages, words) VALUES (%s, %s) RETURNING id", (passages, words)
    ).fetchone()
    assert row is not None
    return int(row["id"])


def _copy_in(tx: Connection, segment: int, entries: Iterable[tuple[str, bytes | bytearray]]) -> None:
    with tx.cursor().copy("COPY postings (segment, word, entries) FROM STDIN WITH (FORMAT BINARY)") as copy:
        copy.set_types(["int4", "text", "bytea"])
        for word, packed in entries:
            copy.write_row((segment, word, packed))
