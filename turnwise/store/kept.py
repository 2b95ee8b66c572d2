"""What every store does in the same way with conversations: lists, titles, branches, imports, feedback and facts."""

from __future__ import annotations

import copy
import json
import secrets
import time
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Self

from turnwise import facts as counting
from turnwise import plain
from turnwise.conversation import Conversation, Turn
from turnwise.errors import BadRequest, ConversationError, ConversationNotFound
from turnwise.store.chores import Chores
from turnwise.store.keys import Keys
from turnwise.store.profiles import UserProfiles
from turnwise.store.recent import Recent
from turnwise.store.requests import Requests
from turnwise.store.rows import dump, full_id, own_id, snippet, tenant_name, title, to_conversation, to_turn
from turnwise.store.sql import Do, Sql
from turnwise.text import storable
from turnwise.types import ChoreList, KeyRing, Profiles, RequestLog, Source, Standing

ROWS_AT_ONCE = 500  # of a query that continues where it stopped
MAX_SEARCH_WORDS = 16
LAST_NUMBER = 2**31 - 1  # that a turn can have
MAX_METADATA_CHARS = 100_000  # larger metadata of an imported conversation is not stored

INTERRUPTED = dump(ConversationError("The program stopped before this message was answered.", "Ask again.").to_dict())


class Kept:
    """The conversations of a tenant in a database: everything in a store except answering turns.

    The tables are `conversations`, `turns` and `turn_facts`. The last one has small values of turns, which can be read
    without their records. Turns copied from another conversation are marked there: facts count only the original.
    """

    _key: ClassVar[str]  # the column with the key of a conversation, and
    _of: ClassVar[str]  # the column of a turn that refers to it

    def __init__(self, sql: Sql) -> None:
        self._sql = sql
        self._tenant = ""
        self._recent = Recent()
        self._collections: tuple[str, ...] = ()  # that this view is limited to; empty: no limit
        self.keys: KeyRing = Keys(sql)
        self.requests: RequestLog = Requests(sql)
        self.profiles: Profiles = UserProfiles(sql)
        self.chores: ChoreList = Chores(sql)

    def of(self, tenant: str, collections: Iterable[str] = ()) -> Self:
        """The same store as another tenant sees it. If collections are given, only the tenant's conversations whose
        turns could not draw on any others. Raises BadRequest if the name of the tenant is not valid."""
        view = copy.copy(self)
        view._tenant = tenant_name(tenant)
        view._collections = tuple(sorted(set(collections)))
        return view

    # --- what each database does in its own way -------------------------------------------------------------------

    def _place(self, conversation_id: str) -> Any:
        """The key of a conversation of this tenant."""
        raise NotImplementedError

    def _lock(self, place: Any) -> str:
        """The name of the lock of a conversation."""
        return f"conversation {place}"

    def _check_text(self, *texts: str) -> None:
        """Raises NotText if the database cannot store a text."""
        raise NotImplementedError

    def _settle(self, conversation_id: str) -> None:
        """Mark a pending turn that no process is answering as interrupted."""
        raise NotImplementedError

    def _holds(self, column: str, word: str) -> tuple[str, tuple[str, ...]]:
        """The condition that a text contains a word, ignoring case, and its values."""
        raise NotImplementedError

    _within: ClassVar[str]  # the condition that the collections of a conversation are among those of a JSON list
    _short: ClassVar[str]  # a text in a form short enough for an index

    # --- reading --------------------------------------------------------------------------------------------------

    def conversation(self, conversation_id: str, records: bool = True) -> Conversation:
        """The conversation, with or without the records of its turns and their feedback. A turn whose process died is
        marked as interrupted."""
        self._check_text(conversation_id)
        self._settle(conversation_id)
        return self._load(conversation_id, records)

    def page(self, conversation_id: str, before: int | None = None, limit: int = 100) -> tuple[Conversation, int]:
        """The conversation with only its latest `limit` turns, or those before a number, and its number of turns."""
        self._check_text(conversation_id)
        self._settle(conversation_id)
        found = self._load(conversation_id, before=LAST_NUMBER if before is None else before, limit=limit)
        place = self._place(conversation_id)
        counted = self._sql.rows(f"SELECT count(*) AS turns FROM turns WHERE {self._of} = ?", place)
        return found, counted[0]["turns"]

    def turn(self, conversation_id: str, number: int) -> Turn:
        """One turn with its record. Raises ConversationNotFound."""
        self._check_text(conversation_id)
        self._settle(conversation_id)
        seen, limits = self._turn_seen
        rows = self._sql.rows(
            "SELECT turns.number, prompt, response, status, created_at, sources, error, shown, record, feedback,"
            f" metadata FROM turns LEFT JOIN turn_facts ON {self._same_turn} WHERE turns.{self._of} = ?"
            f" AND turns.number = ?{seen}",
            *(self._place(conversation_id), number, *limits),
        )
        if not rows:
            raise _no_turn(conversation_id, number)
        return to_turn(rows[0], rows[0]["feedback"], rows[0]["metadata"])

    def conversations(
        self, limit: int = 100, search: str = "", user: str | None = None, before: float | None = None
    ) -> list[dict[str, Any]]:
        """The id, title, user, number of turns, created_at and last_activity of each conversation, the most recently
        active first, and `branch_of` for branches. With `search`, those whose title, prompts or answers contain all
        the words, each with a `snippet`."""
        words = [word.lower() for word in search.split()][:MAX_SEARCH_WORDS]
        if any(storable(word) != word for word in words):
            return []
        columns = ["id", "title", "user_id", "created_at", "last_activity", "ancestors", f"{self._order} AS place"]
        of_it = f"{self._of} = conversations.{self._key}"
        values: list[Any] = []
        if words:
            said, asked = self._any_word("response", words), self._any_word("prompt", words)
            columns.append(
                f"(SELECT CASE WHEN {asked[0]} THEN prompt ELSE response END FROM turns"
                f" WHERE {of_it} AND ({asked[0]} OR {said[0]}) ORDER BY number LIMIT 1) AS found"
            )
            values += [*asked[1], *asked[1], *said[1]]
        conditions = ["tenant = ?"]
        values.append(self._tenant)
        for word in words:
            (titled, value), (asked_it, _), (said_it, _) = (
                self._holds(column, word) for column in ("title", "prompt", "response")
            )
            conditions.append(f"({titled} OR EXISTS (SELECT 1 FROM turns WHERE {of_it} AND ({asked_it} OR {said_it})))")
            values += [*value, *value, *value]
        if user is not None:
            conditions.append(self._equals("user_id"))
            values += [storable(user)] * 2
        if before is not None:
            conditions.append("last_activity < ?")
            values.append(before)
        rows = [
            row
            for seen, limits in self._parts()
            for row in self._sql.rows(
                f"SELECT {', '.join(columns)}, (SELECT count(*) FROM turns WHERE {of_it}) AS turns FROM conversations"
                f" WHERE {' AND '.join(conditions)}{seen} ORDER BY last_activity DESC, {self._order} DESC LIMIT ?",
                *(*values, *limits, limit),
            )
        ]
        rows = sorted(rows, key=lambda row: (row["last_activity"], row["place"]), reverse=True)[:limit]
        origins = [json.loads(row["ancestors"] or "[]")[:1] for row in rows]
        known = self._nameable(each for origin in origins for each in origin)
        return [
            _list_entry(row, [each for each in origin if each in known], words)
            for row, origin in zip(rows, origins, strict=True)
        ]

    def standings(self, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Standing]:
        """The state of conversations of any tenants, by tenant and id. Those that do not exist are left out."""
        keys = {self.of(tenant)._place(each): (tenant, each) for tenant, each in places if storable(each) == each}
        return {
            keys[row["place"]]: Standing(
                row["number"], row["status"], row["title"], tuple(json.loads(row["collections"] or "[]"))
            )
            for row in self.of("")._last_turns(list(keys))
        }

    def _last_turns(self, places: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """The conversations in this view with these keys, with the number and the status of their last turns."""
        seen, limits = self._seen
        for start in range(0, len(places), ROWS_AT_ONCE):
            some = places[start : start + ROWS_AT_ONCE]
            yield from self._sql.rows(
                f"SELECT {self._key} AS place, title, collections, coalesce(number, 0) AS number,"
                f" coalesce(status, '') AS status FROM conversations LEFT JOIN turns ON {self._of} = {self._key}"
                f" AND number = (SELECT max(number) FROM turns WHERE {self._of} = {self._key})"
                f" WHERE {self._key} IN ({', '.join('?' * len(some))}){seen}",
                *(*some, *limits),
            )

    def hides(self, conversation_id: str) -> bool:
        """Whether a conversation with that id exists but is not in this view."""
        if not self._collections or storable(conversation_id) != conversation_id:
            return False
        place = self._place(conversation_id)
        there = self._sql.rows(f"SELECT 1 FROM conversations WHERE {self._key} = ?", place)
        return bool(there) and not self._visible([conversation_id])

    def facts(self, since: float = 0.0, until: float | None = None) -> Iterator[dict[str, Any]]:
        """The `facts` stored with each turn begun in that period, oldest first, with its conversation_id, number,
        status, created_at, user and feedback. If a turn has none, they are read from its record."""
        of_old = ("response", "record", "sources", "error")
        place = f"turns.created_at, turns.{self._of}, turns.number"
        seen, limits = self._seen
        statement = (
            f"SELECT turns.{self._of} AS place, id, user_id, turns.number, status, turns.created_at, feedback, facts,"
            f" {', '.join(f'CASE WHEN facts IS NULL THEN turns.{name} END AS {name}' for name in of_old)}"
            f" FROM turns JOIN conversations ON conversations.{self._key} = turns.{self._of}"
            f" LEFT JOIN turn_facts ON {self._same_turn}"
            " WHERE tenant || '' = ? AND coalesce(copied, 0) = 0 AND turns.created_at >= ? AND turns.created_at < ?"
            f"{seen} AND {{after}} ORDER BY {place} LIMIT {ROWS_AT_ONCE}"
        )
        after: tuple[Any, ...] = ()
        while True:
            rows = self._sql.rows(
                statement.format(after=f"({place}) > (?, ?, ?)" if after else "1 = 1"),
                *(self._tenant, since, float("inf") if until is None else until, *limits, *after),
            )
            yield from map(_facts_of, rows)
            if len(rows) < ROWS_AT_ONCE:
                return
            since = rows[-1]["created_at"]
            after = since, rows[-1]["place"], rows[-1]["number"]

    # --- changing -------------------------------------------------------------------------------------------------

    def begin(self, conversation_id: str) -> None:
        """Create a conversation without turns. Its first prompt gives it a title. Does nothing if it exists."""
        self._check_text(conversation_id)
        place = self._place(conversation_id)
        with self._sql.write(self._lock(place)) as do:
            if not do(f"SELECT 1 FROM conversations WHERE {self._key} = ?", place).fetchone():
                self._begin(do, conversation_id, "", "", time.time())

    def rename(self, conversation_id: str, title: str) -> None:
        """Give a conversation another title. Raises ConversationNotFound, and BadRequest if the title is empty."""
        self._check_text(conversation_id, title)
        if not title.strip():
            raise BadRequest("A title has at least one letter.", "Send the new title.")
        place, (seen, limits) = self._place(conversation_id), self._seen
        with self._sql.write() as do:
            named = f"UPDATE conversations SET title = ? WHERE {self._key} = ?{seen}"
            renamed = do(named, _title(title), place, *limits).rowcount
        if not renamed:
            raise not_found(conversation_id)

    def delete(self, conversation_id: str) -> None:
        """Delete a conversation with its turns and their feedback. A turn that is being answered cannot be finished any
        more. Raises ConversationNotFound."""
        self._check_text(conversation_id)
        place, (seen, limits) = self._place(conversation_id), self._seen
        with self._sql.write(self._lock(place)) as do:
            if not do(f"SELECT 1 FROM conversations WHERE {self._key} = ?{seen}", place, *limits).fetchone():
                raise not_found(conversation_id)
            do(f"DELETE FROM turns WHERE {self._of} = ?", place)
            do(f"DELETE FROM conversations WHERE {self._key} = ?", place)

    def branch(self, conversation_id: str, before: int, new_id: str) -> None:
        """Create a conversation from the turns of another one that come before a turn number. Raises
        ConversationNotFound if there is no such conversation, and ConversationError if the new id is taken."""
        self._check_text(conversation_id, new_id)
        place, new = self._place(conversation_id), self._place(new_id)
        seen, limits = self._seen
        with self._sql.write(self._lock(new)) as do:
            found = do(f"SELECT * FROM conversations WHERE {self._key} = ?{seen}", place, *limits).fetchone()
            if found is None:
                raise not_found(conversation_id)
            ancestors = [conversation_id, *json.loads(found["ancestors"] or "[]")]
            self._begin(do, new_id, found["title"], found["user_id"], time.time(), ancestors, found["metadata"])
            copied = "prompt, response, created_at, answered_at, sources, record, shown"
            do(
                f"INSERT INTO turns ({self._of}, number, owner, {copied}, status, error)"
                f" SELECT ?, number, '', {copied}, CASE status WHEN 'pending' THEN 'interrupted' ELSE status END,"
                f" CASE status WHEN 'pending' THEN ? ELSE error END FROM turns WHERE {self._of} = ? AND number < ?",
                *(new, INTERRUPTED, place, before),
            )
            do(
                f"INSERT INTO turn_facts ({self._of}, number, copied, feedback, metadata)"
                f" SELECT turns.{self._of}, turns.number, 1, feedback, metadata FROM turns"
                f" LEFT JOIN turn_facts ON turn_facts.{self._of} = ? AND turn_facts.number = turns.number"
                f" WHERE turns.{self._of} = ?",
                *(place, new),
            )
            # Read after the turns: a turn is added only after its collections are recorded.
            drawn_on = f"SELECT collections FROM conversations WHERE {self._key} = ?"
            do(f"UPDATE conversations SET collections = ({drawn_on}) WHERE {self._key} = ?", place, new)

    def put(self, conversation: Conversation, title: str = "") -> None:
        """Import a conversation, without its ancestors and the notes to models in it. Raises ConversationError if its
        id is taken, and BadRequest if a source is not valid."""
        self._check_text(conversation.id)
        exported, now = conversation.to_dict(), time.time()
        for source in (each for turn in exported["turns"] for each in (*turn["sources"], *turn["evidence"])):
            plain.read(Source, source)
        known = exported["metadata"] if isinstance(exported["metadata"], dict) else {}
        said = (text for turn in conversation.turns for text in (turn.prompt, turn.response))
        named = title or str(known.get("title") or "") or next(filter(None, said), "")
        noted = {name: value for name, value in known.items() if name not in ("title", "ancestors")}
        kept = _metadata_json({**noted, "imported": True}) or dump({"imported": True})
        place = self._place(conversation.id)
        turns = [
            _turn_values(number, turn, exported_turn)
            for number, (turn, exported_turn) in enumerate(zip(conversation.turns, exported["turns"], strict=True), 1)
        ]
        with self._sql.write(self._lock(place)) as do:
            begun = min(conversation.created_at.timestamp(), now)
            self._begin(do, conversation.id, _title(named), storable(conversation.user_id or ""), begun, (), kept)
            last = min(conversation.last_activity.timestamp(), now)
            do(f"UPDATE conversations SET last_activity = ? WHERE {self._key} = ?", last, place)
            for values, noted_of_it in turns:
                do(
                    f"INSERT INTO turns ({self._of}, owner, number, prompt, response, status, created_at, answered_at,"
                    " sources, error, record, shown) VALUES (?, '', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    *(place, *values),
                )
                do(
                    f"INSERT INTO turn_facts ({self._of}, copied, number, feedback, metadata) VALUES (?, 1, ?, ?, ?)",
                    *(place, *noted_of_it),
                )

    def rate(self, conversation_id: str, number: int, feedback: dict[str, Any] | None) -> None:
        """Store feedback on an answer, or delete it if None. Raises ConversationNotFound."""
        self._check_text(conversation_id)
        place, (seen, limits) = self._place(conversation_id), self._turn_seen
        with self._sql.write(self._lock(place)) as do:
            found = f"SELECT 1 FROM turns WHERE {self._of} = ? AND number = ?{seen}"
            if not do(found, place, number, *limits).fetchone():
                raise _no_turn(conversation_id, number)
            do(
                f"INSERT INTO turn_facts ({self._of}, number, feedback) VALUES (?, ?, ?)"
                f" ON CONFLICT ({self._of}, number) DO UPDATE SET feedback = excluded.feedback",
                *(place, number, dump(feedback)),
            )

    # --- helpers --------------------------------------------------------------------------------------------------

    @property
    def _same_turn(self) -> str:
        return f"turn_facts.{self._of} = turns.{self._of} AND turn_facts.number = turns.number"

    _order: ClassVar[str]  # the column that orders conversations by creation

    @property
    def _collections_json(self) -> str | None:
        """The collections that a turn of this view can draw on, as stored: None means all of the tenant's."""
        return dump(self._collections) if self._collections else None

    @property
    def _seen(self) -> tuple[str, tuple[str, ...]]:
        """The additional condition that a conversation is in this view, and its values."""
        return (f" AND {self._within}", (json.dumps(self._collections),)) if self._collections else ("", ())

    def _parts(self) -> list[tuple[str, tuple[str, ...]]]:
        """Conditions that together select the conversations of this view, one for each set of collections that they
        draw on, so that an index has each part in the order of the list. The sets are looked up one after the other,
        so that the number of conversations does not matter."""
        if not self._collections:
            return [("", ())]
        short = self._short.format("collections")
        kept = "FROM conversations WHERE tenant = ? AND collections IS NOT NULL"
        sets = self._sql.rows(
            f"WITH RECURSIVE sets (name) AS (SELECT min({short}) {kept} UNION ALL"
            f" SELECT (SELECT min({short}) {kept} AND {short} > sets.name) FROM sets WHERE name IS NOT NULL)"
            f" SELECT (SELECT collections {kept} AND {short} = sets.name ORDER BY last_activity LIMIT 1) AS collections"
            " FROM sets WHERE name IS NOT NULL",
            *[self._tenant] * 3,
        )
        within = [
            each["collections"] for each in sets if set(json.loads(each["collections"])) <= set(self._collections)
        ]
        return [(f" AND {self._equals('collections')}", (each, each)) for each in within]

    def _equals(self, column: str) -> str:
        """The condition that a column, whose index has it in short form, equals a value, which must be given twice."""
        return f"{self._short.format(column)} = {self._short.format('?')} AND {column} = ?"

    @property
    def _turn_seen(self) -> tuple[str, tuple[str, ...]]:
        """The additional condition that a turn is in this view, and its values."""
        seen, limits = self._seen
        of_it = f"SELECT 1 FROM conversations WHERE {self._key} = turns.{self._of}{seen}"
        return f" AND EXISTS ({of_it})" if seen else "", limits

    def _nameable(self, conversation_ids: Iterable[str]) -> Container[str]:
        """The conversations that may be named in this view: all of these, if it is not limited."""
        wanted = set(conversation_ids)
        return self._visible(wanted) if self._collections else wanted

    def _visible(self, conversation_ids: Iterable[str]) -> set[str]:
        """The conversations that exist in this view."""
        places = {self._place(each): each for each in conversation_ids if storable(each) == each}
        return {places[row["place"]] for row in self._last_turns(list(places))}

    def _draw_on(self, do: Do, conversation_id: str, kept: str | None) -> None:
        """Record that a turn of this view is added to a conversation with these collections. Raises
        ConversationNotFound if the conversation is not in this view."""
        before = None if kept is None else set(json.loads(kept))
        if self._collections and (before is None or not before <= set(self._collections)):
            raise not_found(conversation_id)
        if before is not None and before != set(self._collections):
            place = self._place(conversation_id)
            do(f"UPDATE conversations SET collections = ? WHERE {self._key} = ?", self._collections_json, place)

    def _load(
        self, conversation_id: str, with_records: bool = True, before: int = LAST_NUMBER, limit: int = LAST_NUMBER
    ) -> Conversation:
        """A conversation as stored, with the latest `limit` turns before a turn number. Feedback is read only together
        with records, because turns do not use it. Without records, cached turns are not read again."""
        place, (seen, limits), (turn_seen, _) = self._place(conversation_id), self._seen, self._turn_seen
        found = self._sql.rows(f"SELECT * FROM conversations WHERE {self._key} = ?{seen}", place, *limits)
        if not found:
            raise not_found(conversation_id)
        ancestors = json.loads(found[0]["ancestors"] or "[]")
        known, mark = self._nameable(ancestors), found[0]["mark"]
        earlier = () if with_records else self._recent.turns(place, mark)
        rows = self._sql.rows(
            "SELECT number, prompt, response, status, created_at, sources, error, shown,"
            f" {'record' if with_records else 'NULL AS record'} FROM turns WHERE {self._of} = ? AND number > ?"
            f" AND number < ?{turn_seen} ORDER BY number DESC LIMIT ?",
            *(place, earlier[-1].number if earlier else 0, before, *limits, limit),
        )
        rows.reverse()
        noted = self._sql.rows(
            f"SELECT number, {'feedback' if with_records else 'NULL'} AS feedback, metadata FROM turn_facts"
            f" WHERE {self._of} = ? AND number BETWEEN ? AND ? AND (metadata IS NOT NULL OR feedback IS NOT NULL)",
            *(place, rows[0]["number"] if rows else 0, rows[-1]["number"] if rows else 0),
        )
        notes = {row["number"]: (row["feedback"], row["metadata"]) for row in noted}
        turns = [*earlier, *(to_turn(row, *notes.get(row["number"], ())) for row in rows)]
        if not with_records:
            self._recent.keep(place, mark, turns)
        return to_conversation(conversation_id, found[0], [each for each in ancestors if each in known], turns)

    def _begin(
        self,
        do: Do,
        conversation_id: str,
        title: str,
        user: str,
        now: float,
        ancestors: Sequence[str] = (),
        metadata: str | None = None,
    ) -> None:
        """Insert a conversation. Raises ConversationError if its id is taken."""
        place, kept = self._place(conversation_id), full_id(self._tenant, conversation_id)
        columns: dict[str, Any] = {self._key: place, "id": kept, "title": title, "tenant": self._tenant}
        columns |= {"user_id": user, "created_at": now, "last_activity": now, "metadata": metadata}
        columns |= {"ancestors": dump(list(ancestors)) if ancestors else None, "collections": self._collections_json}
        columns |= {"mark": secrets.token_hex(8)}
        if do(f"SELECT 1 FROM conversations WHERE {self._key} = ?", place).fetchone():
            raise ConversationError(f"There is a conversation {conversation_id!r} already.", "Choose another id.")
        do(
            f"INSERT INTO conversations ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
            *columns.values(),
        )

    def _any_word(self, column: str, words: Sequence[str]) -> tuple[str, list[str]]:
        conditions = [self._holds(column, word) for word in words]
        return " OR ".join(each for each, _ in conditions), [value for _, values in conditions for value in values]


def not_found(conversation_id: str) -> ConversationNotFound:
    return ConversationNotFound(f"There is no conversation {conversation_id!r}.", "Check its id, or start a new one.")


def _no_turn(conversation_id: str, number: int) -> ConversationNotFound:
    return ConversationNotFound(f"Conversation {conversation_id!r} has no turn {number}.", "Check its id and number.")


def _list_entry(row: dict[str, Any], origin: Sequence[str], words: Sequence[str]) -> dict[str, Any]:
    entry = {
        "id": own_id(row["id"]),
        "title": row["title"],
        "user": row["user_id"],
        "turns": row["turns"],
        "created_at": row["created_at"],
        "last_activity": row["last_activity"],
    }
    if origin:
        entry["branch_of"] = origin[0]
    return {**entry, "snippet": snippet(row["found"] or row["title"], words)} if words else entry


def _facts_of(row: dict[str, Any]) -> dict[str, Any]:
    if row["facts"] is not None:
        facts = json.loads(row["facts"])
    elif row["status"] != "pending":
        record, sources, error = json.loads(row["record"] or "{}"), json.loads(row["sources"] or "[]"), row["error"]
        facts = counting.of_record(record, sources, row["status"], row["response"] or "", json.loads(error or "null"))
    else:
        facts = {}
    return {
        **facts,
        "conversation_id": own_id(row["id"]),
        "number": row["number"],
        "status": row["status"],
        "created_at": row["created_at"],
        "user": row["user_id"],
        "feedback": json.loads(row["feedback"]) if row["feedback"] else None,
    }


def _turn_values(number: int, turn: Turn, exported: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The values of an imported turn for `turns`, and for `turn_facts`. No process is answering it."""
    pending, at, evidence = turn.status == "pending", turn.timestamp.timestamp(), exported["evidence"]
    ended, error = ("interrupted", INTERRUPTED) if pending else (turn.status, dump(turn.error and exported["error"]))
    said = (_storable(turn.prompt), _storable(turn.response), ended, at, at)
    shown = dump({"evidence": evidence, "note": ""}) if evidence else None
    feedback = exported["metadata"].pop("feedback", None)
    kept = (number, *said, dump(exported["sources"]), error, dump(exported["record"]), shown)
    return kept, (number, _metadata_json(feedback), _metadata_json(exported["metadata"]))


def _title(text: str) -> str:
    return title(storable(text))


def _storable(text: str | None) -> str | None:
    return None if text is None else storable(text)


def _metadata_json(value: Any) -> str | None:
    """Metadata or feedback as JSON, or None if it is empty or too large."""
    text = dump(value) if value else None
    return text if text is not None and len(text) <= MAX_METADATA_CHARS else None
