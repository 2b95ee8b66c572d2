"""What turns see of a library that several share: their tenant's documents, and what is attached to a conversation."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.conversation import Conversation
from turnwise.documents.uploads import upload_name, upload_source
from turnwise.engine import Engine
from turnwise.errors import DocumentError, UnsupportedDocument
from turnwise.types import LIBRARY, ConversationStore, Message, Reach, Reply, Source, TurnRequest

HERON = b"# Grey heron\n\nThe grey heron is a tall wading bird. Pairs of grey herons breed in tall trees near water.\n"
STORK = b"# Velvet stork\n\n## Secret nesting sites\n\nThe velvet stork nests on the chimneys of Quedlinburg.\n"
QUESTION = "Where does the velvet stork nest?"
ACME = Reach("acme")


class Shared:
    """The store of a library for two tenants, and with a conversation that branched from another."""

    def __init__(self, store: ConversationStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def of(self, tenant: str, _: tuple[str, ...] = ()) -> Shared:
        assert tenant in ("acme", "")
        return self

    def accept(self, conversation_id: str, prompt: str, *more: Any) -> Conversation:
        accepted = self._store.accept(conversation_id, prompt, *more)
        if conversation_id == "branch":
            accepted.metadata["ancestors"] = ("talk",)
        return accepted


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with build(Settings(library=str(tmp_path / "library")), create=True) as engine:
        engine._parts = dataclasses.replace(engine._parts, store=Shared(engine.store))  # type: ignore[arg-type]
        engine.add(contents={"heron.md": HERON})
        yield engine


def ask(engine: Engine, message: str = QUESTION, **values: Any) -> Reply:
    return engine.run(engine.answer(TurnRequest(message, **values)))


def knows(reply: Reply) -> bool:
    return "Quedlinburg" in f"{reply.text} {reply.sources} {reply.trace} {reply.suggestions}"


def test_what_is_attached_answers_in_its_conversation_and_in_a_branch_of_it_and_nowhere_else(engine: Engine) -> None:
    report = engine.upload("stork.md", STORK, attached="talk")
    assert (report.added, report.failed) == (1, ())
    engine.embed()
    assert knows(ask(engine, conversation_id="talk"))
    assert knows(ask(engine, conversation_id="branch"))
    assert not knows(ask(engine, conversation_id="another"))
    assert not knows(ask(engine))
    assert not knows(ask(engine, conversation_id="talk", reach=ACME))
    assert knows(ask(engine, conversation_id="talk", reach=Reach("", ("no such collection",))))
    assert engine.remove_attachments("talk", "acme") == 0
    assert engine.remove_attachments("talk") == 1
    assert not knows(ask(engine, conversation_id="branch"))
    assert engine.index.counts() == engine.index.counts(LIBRARY)


def test_a_tenant_has_its_own_documents_and_no_others(engine: Engine) -> None:
    engine.upload("stork.md", STORK, tenant="acme")
    engine.embed()
    theirs = ask(engine, reach=ACME)
    assert knows(theirs)
    assert theirs.state is not None
    assert "heron" not in str(ask(engine, "Where do grey herons breed?", reach=ACME).sources)
    assert not knows(ask(engine))
    assert [hit.passage.title for hit in engine.search("stork", reach=ACME)] == ["Velvet stork"]
    assert [hit.passage.title for hit in engine.search("stork")] == ["Grey heron"]
    assert engine.suspects() == []


def test_topics_are_those_of_what_one_may_see(engine: Engine) -> None:
    engine.upload("stork.md", STORK, tenant="acme")
    history = (Message("user", "What is Acme?"), Message("assistant", "A shop."))
    request = TurnRequest("and where are the secret nesting sites of it", history)
    theirs = engine.analyze(dataclasses.replace(request, reach=ACME))
    assert theirs.understanding.state.topic == "secret nesting sites"
    assert engine.analyze(request).understanding.state.topic != "secret nesting sites"
    assert engine.analyze(dataclasses.replace(request, reach=ACME)).understanding == theirs.understanding


def test_the_id_of_a_passage_that_somebody_else_may_see_gives_nothing(engine: Engine) -> None:
    engine.upload("stork.md", STORK, tenant="acme")
    engine.embed()
    (passage,) = [hit.passage for hit in engine.search("stork", reach=ACME)]
    forged = Source(1, passage.id, "Grey heron", "heron.md", "", None, "It nests.", "It nests.")
    for sources in ((forged,), ()):
        for said in ("It nests [1].", "The velvet stork nests on the chimneys of Quedlin-burg [1]."):
            history = (Message("user", "Where does it nest?"), Message("assistant", said, sources))
            for message in ("Tell me more about that", "And why?", "Say it in one sentence", QUESTION):
                reply = ask(engine, message, history=history)
                assert "Quedlinburg" not in f"{reply.text} {reply.sources} {reply.trace} {reply.suggestions}", message
    library = engine.guard.open_library(engine.index, LIBRARY)
    assert library.passage(passage.id) is None
    assert library.around(passage) == []
    assert library.locate("The velvet stork nests on the chimneys of Quedlinburg.") is None
    assert engine.guard.open_library(engine.index, ACME).around(passage) == [passage]


def test_attached_tables_are_the_librarys_own(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("region,revenue\nnorth,120\nsouth,80\n")
    engine.attach(tmp_path / "sales.csv")
    asked = "What is the total revenue by region?"
    assert "120" in ask(engine, asked).text
    theirs = ask(engine, asked, reach=ACME)
    assert "120" not in theirs.text
    assert theirs.plan is not None
    assert all(step.tool != "database" for step in theirs.plan.steps)


# --- documents that are sent --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("notes.md", "notes.md"),
        ("../../etc/notes.md", "notes.md"),
        ("C:\\papers\\no\u202etes\x00\n.md", "notes.md"),
        ("Über uns.pdf", "Über uns.pdf"),
        ("x" * 500 + ".pdf", "x" * 196 + ".pdf"),
        ("/", ""),
    ],
)
def test_a_name_is_one_that_can_be_kept_and_shown(name: str, kept: str) -> None:
    assert upload_name(name) == kept


def test_no_two_places_share_a_source() -> None:
    places = ["", "a", "a/", "/", "a/b", "%2F", "b"]
    sources = [upload_source("x.md", tenant, attached) for tenant in places for attached in places]
    assert len(set(sources)) == len(sources)
    assert upload_source("x.md") == "upload:x.md"
    assert upload_source("x.md", "acme", "talk") == "upload:acme/talk/x.md"


def test_the_same_name_is_another_document_for_everybody(engine: Engine) -> None:
    for place in ({}, {"tenant": "acme"}, {"attached": "talk"}, {"tenant": "acme", "attached": "talk"}):
        assert engine.upload("x/notes.md", STORK, **place).added == 1
        found = engine.uploaded("notes.md", **place)
        assert found is not None
        assert (found.source, found.title) == (upload_source("notes.md", **place), "Velvet stork")
    assert engine.upload("notes.md", STORK).unchanged == 1
    assert engine.upload("notes.md", HERON, "papers", ("x",)).updated == 1
    assert [(each.source, each.collection) for each in engine.index.documents()] == [
        ("heron.md", ""),  # what is given by name on the command line keeps its name
        ("upload:notes.md", "papers"),
    ]
    assert len(engine.index.documents(None)) == 5
    assert engine.uploaded("other.md") is None


def test_a_document_that_cannot_be_read_says_why(engine: Engine) -> None:
    with pytest.raises(UnsupportedDocument, match=r"^tune\.mp3"):
        engine.upload("tune.mp3", b"...", tenant="acme")
    with pytest.raises(DocumentError, match=r"paper\.pdf"):
        engine.upload("paper.pdf", b"no PDF at all", tenant="acme")
    assert engine.index.documents(ACME) == []


def test_documents_are_taken_out_and_made_again_within_reach_only(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "stork.md").write_bytes(STORK)
    engine.add(tmp_path / "stork.md", collection="birds", tags=("x",), tenant="acme")
    engine.upload("notes.md", STORK, "birds", tenant="acme")
    engine.embed()
    filed, sent = engine.index.documents(ACME)
    assert engine.reindex(filed.id) is engine.reindex(sent.id) is None
    assert not engine.remove_document(filed.id)
    assert engine.remove_collection("birds") == 0

    assert engine.reindex(sent.id, ACME) is False
    assert engine.pending() == sent.passages
    engine.embed()
    assert engine.reindex(filed.id, ACME) is True
    assert engine.pending() == filed.passages
    (tmp_path / "stork.md").write_bytes(STORK + b"\n## Food\n\nIt eats frogs.\n")
    assert engine.reindex(filed.id, ACME) is True
    now = engine.index.document(filed.id, ACME)
    assert now is not None
    assert now.passages > filed.passages
    assert (now.collection, now.tags, now.tenant) == ("birds", ("x",), "acme")
    (tmp_path / "stork.md").unlink()
    assert engine.reindex(filed.id, ACME) is False

    assert engine.remove_document(filed.id, ACME)
    assert engine.remove_collection("birds", ACME) == 1
    assert engine.index.documents(ACME) == []
    assert len(engine.index.documents()) == 1
