"""How a turn is accepted, answered and ended in every store: it is stored before it is answered, and ends only once."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from turnwise.conversation import Conversation
from turnwise.errors import ConversationBusy, ConversationError, LibraryError
from turnwise.store.kept import INTERRUPTED, Kept, not_found
from turnwise.store.rows import dump, dump_shown, title
from turnwise.store.sql import Do, Sql
from turnwise.types import Ending


@dataclass(frozen=True, slots=True)
class Work:
    """The turns that this process has accepted, by the keys of their conversations and their numbers."""

    answering: set[tuple[Any, int]] = field(default_factory=set)
    given_up: set[tuple[Any, int]] = field(default_factory=set)  # whose end could not be written, as on a full disk
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, place: Any, number: int) -> None:
        with self.lock:
            self.answering.add((place, number))

    def end(self, place: Any, number: int) -> None:
        with self.lock:
            self.answering.discard((place, number))
            self.given_up.discard((place, number))

    def give_up(self, place: Any, number: int) -> None:
        with self.lock:
            self.answering.discard((place, number))
            self.given_up.add((place, number))


class Answering(Kept):
    """Stores each conversation as numbered turns. What was acknowledged is kept and never overwritten."""

    def __init__(self, sql: Sql) -> None:
        super().__init__(sql)
        self._work = Work()

    # --- what each database does in its own way -------------------------------------------------------------------

    _last: ClassVar[str]  # the statement that selects the number, the status and the owner of the last turn

    def _is_held(self, turn: Mapping[str, Any]) -> bool:
        """Whether a process is still answering a pending turn."""
        raise NotImplementedError

    def _take(self, do: Do, place: Any, number: int, prompt: str, now: float) -> None:
        """Insert a pending turn of this process."""
        raise NotImplementedError

    def _owner(self) -> str:
        """The name under which this process accepts turns."""
        raise NotImplementedError

    def _storable_answer(self, text: str) -> str:
        """An answer as the database can store it."""
        raise NotImplementedError

    # --- turns ----------------------------------------------------------------------------------------------------

    def accept(self, conversation_id: str, prompt: str, user: str = "") -> Conversation:
        """Append the prompt as a pending turn, the last one of the conversation returned (without records).

        Raises ConversationBusy while another message of the conversation is being answered.
        """
        self._check_text(conversation_id, prompt, user)
        place = self._place(conversation_id)
        with self._sql.write(self._lock(place)) as do:
            now = time.time()
            kept = do(f"SELECT collections FROM conversations WHERE {self._key} = ?", place).fetchone()
            if kept is None:
                self._begin(do, conversation_id, title(prompt), user, now)
            else:
                self._draw_on(do, conversation_id, kept["collections"])
            last = do(self._last, place).fetchone()
            if last is None:
                do(
                    "UPDATE conversations SET title = CASE title WHEN '' THEN ? ELSE title END,"
                    f" user_id = CASE user_id WHEN '' THEN ? ELSE user_id END WHERE {self._key} = ?",
                    *(title(prompt), user, place),
                )
            elif last["status"] == "pending":
                if self._is_answered(place, last):
                    raise ConversationBusy(
                        "Another message of this conversation is being answered.",
                        "Wait for its answer, then ask again.",
                    )
                self._interrupt(do, place, last["number"])
            number = last["number"] + 1 if last else 1
            while (place, number) in self._work.answering:  # in a deleted conversation with the same id
                number += 1
            self._take(do, place, number, prompt, now)
            do(f"UPDATE conversations SET last_activity = ? WHERE {self._key} = ?", now, place)
        self._work.begin(place, number)
        try:
            # Read outside the transaction: until this turn ends, no other can be added to the conversation.
            accepted = self._load(conversation_id, with_records=False)
            if not accepted.turns or accepted.turns[-1].number != number:
                raise not_found(conversation_id)
            return accepted
        except LibraryError:
            self._work.give_up(place, number)
            raise
        except ConversationError:  # it was deleted just now
            self._work.end(place, number)
            raise

    def finish(self, conversation_id: str, number: int, ending: Ending) -> None:
        """End a pending turn of this process. Raises ConversationError if it is not pending (any more), for example
        because its conversation was deleted."""
        place = self._place(conversation_id)
        try:
            response = None if ending.response is None else self._storable_answer(ending.response)
            sources = dump([dataclasses.asdict(source) for source in ending.sources])
            shown = dump_shown(ending.shown, ending.note)
            with self._sql.write() as do:
                now = time.time()
                ended = do(
                    "UPDATE turns SET status = ?, response = ?, answered_at = ?, sources = ?, record = ?, error = ?,"
                    f" shown = ? WHERE {self._of} = ? AND number = ? AND status = 'pending' AND owner = ?",
                    *(ending.status, response, now, sources, dump(ending.record), dump(ending.error), shown),
                    *(place, number, self._owner()),
                ).rowcount
                if ended and ending.facts is not None:
                    do(
                        f"INSERT INTO turn_facts ({self._of}, number, facts) VALUES (?, ?, ?)"
                        f" ON CONFLICT ({self._of}, number) DO UPDATE SET facts = excluded.facts",
                        *(place, number, dump(ending.facts)),
                    )
                if ended:
                    do(f"UPDATE conversations SET last_activity = ? WHERE {self._key} = ?", now, place)
        except BaseException:  # also of an ending that cannot be written down
            self._work.give_up(place, number)
            raise
        self._work.end(place, number)
        if not ended:
            raise ConversationError(
                f"Turn {number} of conversation {conversation_id!r} is not waiting for an answer.",
                "It was finished before, given up as interrupted, or deleted; read the conversation to see which.",
            )

    def _settle(self, conversation_id: str) -> None:
        place = self._place(conversation_id)
        last = next(iter(self._sql.rows(self._last, place)), None)
        if last is None or last["status"] != "pending" or self._is_answered(place, last):
            return
        with self._sql.write(self._lock(place)) as do:
            again = do(self._last, place).fetchone()
            if again and again["status"] == "pending" and not self._is_answered(place, again):
                self._interrupt(do, place, again["number"])

    def _is_answered(self, place: Any, pending: Mapping[str, Any]) -> bool:
        """Whether a pending turn may still get its answer."""
        return self._is_held(pending) and (place, pending["number"]) not in self._work.given_up

    def _interrupt(self, do: Do, place: Any, number: int) -> None:
        do(
            f"UPDATE turns SET status = 'interrupted', error = ? WHERE {self._of} = ? AND number = ?"
            " AND status = 'pending'",
            *(INTERRUPTED, place, number),
        )
