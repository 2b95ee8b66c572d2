"""The page over a network that fails, and before a server that asks for a key: over turns that are written here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.patience import until
from tests.server.scripted import STAGE, Client, reply_to, serving
from tests.web.cutting import Wire, wired
from turnwise.config import Settings
from turnwise.types import Accepted, Answered, Delta, Ending, StageDone, TurnEvent, TurnRequest

pytest.importorskip("playwright", reason="the page is tested with Playwright: pip install 'turnwise[dev]'")

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

PIECES = 60


async def plays(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
    """A long answer, with a citation that is cut in two; in the store, as the engine would have it."""
    engine = _client.engine
    number = engine.store.accept(request.conversation_id or "", request.message).turns[-1].number
    yield Accepted(request.conversation_id, number)
    yield StageDone(STAGE)
    status, text = "interrupted", "".join(f"word{place} " for place in range(PIECES)) + "end [1]."
    try:
        for place in range(PIECES):
            yield Delta(f"word{place} ")
            await asyncio.sleep(0.05 if "slowly" in request.message else 0)
        yield Delta("end [")
        yield Delta("1].")
        status = "answered"
        engine.store.finish(request.conversation_id or "", number, Ending(status, text))
        yield Answered(reply_to(request, text))
    finally:
        if status == "interrupted":
            engine.store.finish(request.conversation_id or "", number, Ending(status, text))


_client: Client


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    global _client
    with serving(tmp_path_factory.mktemp("page"), plays) as client:
        _client = client
        yield client


@pytest.fixture
def wire(client: Client) -> Iterator[Wire]:
    with wired(client.address) as wire:
        yield wire


def begin(page: Page, text: str) -> None:
    page.fill("#message", text)
    page.press("#message", "Enter")


def test_an_answer_goes_on_where_it_was_when_the_connection_broke(page: Page, client: Client, wire: Wire) -> None:
    page.goto(wire.address)
    asked = len(client.engine.requests)
    begin(page, "Say it slowly")
    page.get_by_text("word3").wait_for()
    page.evaluate(
        """window.shown = ""; new MutationObserver(() => {
            window.shown = document.querySelector(".streaming")?.innerText ?? window.shown;
        }).observe(document.querySelector("#turns"), {subtree: true, childList: true})"""
    )
    wire.down = True
    wire.cut()
    page.get_by_text("The connection was lost").wait_for()
    wire.down = False
    page.locator(".turn footer").wait_for()
    assert page.locator(".answer").inner_text().startswith(" ".join(f"word{n}" for n in range(PIECES)))
    words = page.evaluate("window.shown").split()
    assert words[: PIECES - 5] == [f"word{n}" for n in range(PIECES - 5)], "nothing was shown twice or left out"
    assert len(client.engine.requests) == asked + 1


def test_a_question_is_sent_again_and_asked_once_when_the_server_was_out_of_reach(
    page: Page, client: Client, wire: Wire
) -> None:
    page.goto(wire.address)
    page.get_by_text("2 documents").wait_for()
    asked = len(client.engine.requests)
    wire.down = True
    wire.cut()
    begin(page, "Are you there?")
    page.get_by_text("The connection was lost").wait_for()
    with page.expect_event("requestfailed", lambda request: "/api/conversations?" in request.url):
        page.evaluate("dispatchEvent(new Event('conversations'))")
    expect(page.get_by_text("What you ask is kept here")).to_have_count(0)  # out of reach is not empty
    assert len(client.engine.requests) == asked
    wire.down = False
    page.locator(".turn footer").wait_for()
    assert "word0 word1" in page.locator(".answer").inner_text()
    assert len(client.engine.requests) == asked + 1


def test_stopping_stops_the_turn_itself(page: Page, client: Client) -> None:
    page.goto(client.address)
    begin(page, "Say it slowly")
    page.get_by_text("word3").wait_for()
    page.keyboard.press("Escape")
    page.locator(".notice", has_text="You stopped this answer.").wait_for()
    conversation = page.evaluate("location.hash.slice(2)")
    until(lambda: client.engine.store.conversation(conversation).turns[-1].status == "interrupted")


def test_stopping_stops_at_once_while_the_server_is_out_of_reach(page: Page, wire: Wire) -> None:
    page.goto(wire.address)
    page.get_by_text("2 documents").wait_for()
    wire.down = True
    wire.cut()
    begin(page, "Are you there?")
    page.get_by_text("The connection was lost").wait_for()
    page.wait_for_timeout(3000)  # by now it waits for longer and longer
    page.click("#stop")
    page.locator(".notice", has_text="You stopped this answer.").wait_for(timeout=1000)


def test_escape_stops_wherever_the_focus_is_but_closes_first_what_is_open(page: Page, client: Client) -> None:
    page.goto(client.address)
    begin(page, "Say it slowly")
    page.get_by_text("word3").wait_for()
    page.click("#show-documents")
    page.keyboard.press("Escape")
    expect(page.locator("#documents")).to_be_hidden()
    assert page.locator("#stop").is_visible()
    page.keyboard.press("Escape")
    page.locator(".notice", has_text="You stopped this answer.").wait_for(timeout=2000)


def test_what_is_being_written_stays_with_its_conversation(page: Page, client: Client) -> None:
    page.goto(client.address)
    begin(page, "Are you there?")
    page.fill("#message", "half a quest")
    page.locator(".turn footer").wait_for()
    page.reload()
    assert page.input_value("#message") == "half a quest"
    page.get_by_role("button", name="New conversation", exact=True).click()
    assert page.input_value("#message") == ""
    page.go_back()
    expect(page.locator(".turn")).to_have_count(1)
    assert page.input_value("#message") == "half a quest"
    page.press("#message", "Enter")
    expect(page.locator(".turn footer")).to_have_count(2)
    page.reload()
    expect(page.locator(".turn footer")).to_have_count(2)
    assert page.input_value("#message") == ""


def test_a_page_that_is_loaded_again_goes_on_with_the_answer(page: Page, client: Client) -> None:
    page.goto(client.address)
    begin(page, "Say it slowly")
    page.get_by_text("word3").wait_for()
    page.reload()
    page.get_by_role("button", name="Stop answering").wait_for()
    page.locator(".turn footer").wait_for()
    assert page.locator(".answer").inner_text().startswith("word0 word1")
    assert page.locator(".turn").count() == 1


def test_what_is_drawn_of_an_answer_is_not_drawn_again(page: Page, client: Client) -> None:
    page.goto(client.address)
    page.evaluate(
        """window.removed = 0; new MutationObserver((all) => { for (const each of all)
        if (each.target.className === "streaming") window.removed += each.removedNodes.length;
        }).observe(document.body, {subtree: true, childList: true})"""
    )
    begin(page, "Say it slowly")
    page.locator(".turn footer").wait_for()
    assert page.evaluate("window.removed") == 0
    assert page.locator(".answer .cite").inner_text() == "1"


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("locked"), settings=Settings(access="keys")) as client:
        yield client


def test_a_server_with_keys_asks_for_one_and_the_page_offers_what_it_allows(page: Page, locked: Client) -> None:
    _, secret = locked.engine.store.keys.create("reader", may="ask")
    page.goto(locked.address)
    dialog = page.locator("#key")
    dialog.wait_for()
    page.get_by_label("Key", exact=True).fill("tw_wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#key-refused")).not_to_have_text("")
    page.get_by_label("Key", exact=True).fill(secret)
    page.keyboard.press("Enter")
    page.get_by_text("2 documents").wait_for()
    assert dialog.is_hidden()
    assert page.locator("#dashboard").is_hidden(), "a key that may only ask sees no dashboard"
    begin(page, "What is BERT?")
    page.locator(".turn footer").wait_for()
    assert page.locator("body.may-edit").count() == 0, "nor a way to change the library"
    assert page.evaluate("localStorage.getItem('turnwise-key')") is None
    page.reload()
    page.get_by_text("2 documents").wait_for()
    assert dialog.is_hidden()


def test_a_key_is_remembered_on_this_machine_only_where_that_was_chosen(page: Page, locked: Client) -> None:
    _, secret = locked.engine.store.keys.create("keeper", may="manage")
    page.goto(locked.address)
    page.get_by_label("Key", exact=True).fill(secret)
    page.get_by_role("checkbox", name="Remember it on this machine").check()
    page.get_by_role("button", name="Go on").click()
    page.get_by_text("2 documents").wait_for()
    assert page.evaluate("localStorage.getItem('turnwise-key')") == secret
    expect(page.locator("#dashboard")).to_be_visible()
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Forget my key").click()
    page.locator("#key").wait_for()
    assert page.evaluate("localStorage.getItem('turnwise-key')") is None
