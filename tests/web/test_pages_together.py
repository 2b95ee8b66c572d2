"""Several pages on one conversation: what one does while another is out of sight, cut off, or asking too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.server.scripted import BERT, Client, reply_to, serving
from tests.web.cutting import Wire, wired
from turnwise.types import Accepted, Answered, Delta, Ending, TurnEvent, TurnRequest

pytest.importorskip("playwright", reason="the page is tested with Playwright: pip install 'turnwise[dev]'")

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_client: Client


async def plays(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
    """A turn that is kept, after the one that is being answered."""
    store, id = _client.engine.store, request.conversation_id or ""
    await asyncio.sleep(2 if "late" in request.message else 0)  # as long as it waits for the one before it
    number = store.accept(id, request.message).turns[-1].number
    yield Accepted(id, number)
    yield Delta("BERT hides ")
    store.finish(id, number, Ending("answered", "BERT hides words [1].", (BERT,)))
    yield Answered(reply_to(request))


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


def keep(client: Client, id: str, *questions: str) -> None:
    """Turns that somebody else asked, with their answers."""
    for question in questions:
        number = client.engine.store.accept(id, question).turns[-1].number
        client.engine.store.finish(id, number, Ending("answered", f"It answers {question}", (BERT,)))


def questions(page: Page) -> list[str]:
    return page.locator(".turn .question").all_text_contents()


def show(page: Page, yes: bool) -> None:
    """Bring the page to the front, or put another one over it."""
    page.evaluate(
        """(yes) => {
            Object.defineProperty(document, "hidden", {get: () => !yes, configurable: true});
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        yes,
    )


def watched(page: Page, address: str) -> None:
    with page.expect_response(lambda response: response.url.endswith("/events")):
        page.goto(address)


def test_a_page_out_of_sight_lets_its_connection_go_and_catches_up_when_it_is_seen(page: Page, client: Client) -> None:
    keep(client, "sight", "one")
    watched(page, f"{client.address}/#/sight")
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/events"), timeout=10_000):
        show(page, False)
    keep(client, "sight", "two", "three")
    show(page, True)
    expect(page.locator(".turn")).to_have_count(3)
    assert questions(page) == ["one", "two", "three"]


def test_more_pages_than_a_browser_has_connections(browser: Browser, client: Client) -> None:
    keep(client, "many", "one")
    context = browser.new_context()
    for _ in range(6):
        other = context.new_page()
        watched(other, f"{client.address}/#/many")
        show(other, False)
    page = context.new_page()
    page.goto(f"{client.address}/#/many", timeout=20_000)
    expect(page.locator(".turn footer")).to_have_count(1, timeout=20_000)
    context.close()


def test_more_pages_in_sight_than_a_browser_has_connections(browser: Browser, client: Client) -> None:
    keep(client, "seven", "one")
    context = browser.new_context()
    pages = [context.new_page() for _ in range(7)]
    for page in pages:
        page.goto(f"{client.address}/#/seven", timeout=20_000)
        expect(page.locator(".turn footer")).to_have_count(1, timeout=20_000)
    pages[6].locator("#message").fill("two")
    pages[6].keyboard.press("Enter")
    for page in pages:
        expect(page.locator(".turn footer")).to_have_count(2, timeout=20_000)
    for page in pages[:3]:  # those that held a connection; others take their places
        page.close()
    with pages[3].expect_response(lambda response: response.url.endswith("/events"), timeout=20_000):
        pass
    context.close()


def test_a_page_that_only_looks_now_and_then_shows_each_state_of_a_turn_once(browser: Browser, client: Client) -> None:
    keep(client, "looks", "one")
    context = browser.new_context()
    pages = [context.new_page() for _ in range(4)]
    for page in pages:
        page.goto(f"{client.address}/#/looks", timeout=20_000)
        expect(page.locator(".turn footer")).to_have_count(1, timeout=20_000)
    number = client.engine.store.accept("looks", "two").turns[-1].number
    looking, turn = pages[3], pages[3].locator(f"#turn-{number}")
    for ending in (None, Ending("answered", "It answers two", (BERT,))):
        if ending is not None:
            client.engine.store.finish("looks", number, ending)
        said = turn.get_by_text("It answers two" if ending else "This question is still being answered.")
        said.wait_for(timeout=20_000)
        said.evaluate("element => element.dataset.shown = 'before'")
        for _ in range(2):
            with looking.expect_response(lambda response: "?limit=5" in response.url, timeout=20_000):
                pass
        assert said.count() == 1
    assert said.get_attribute("data-shown") == "before"
    context.close()


def test_what_was_asked_while_the_connection_was_gone_is_shown_when_it_comes_again(
    page: Page, client: Client, wire: Wire
) -> None:
    keep(client, "gap", "one")
    watched(page, f"{wire.address}/#/gap")
    wire.down = True
    wire.cut()
    keep(client, "gap", "two", "three")
    wire.down = False
    expect(page.locator(".turn")).to_have_count(3, timeout=20_000)
    assert questions(page) == ["one", "two", "three"]


def test_a_page_that_was_away_for_long_shows_the_end_and_loads_the_rest(page: Page, client: Client) -> None:
    keep(client, "away", "one")
    watched(page, f"{client.address}/#/away")
    show(page, False)
    keep(client, "away", *(f"more {number}" for number in range(40)))
    show(page, True)
    page.get_by_text("more 39", exact=True).wait_for()
    page.evaluate("scrollTo(0, 0)")
    expect(page.locator(".turn")).to_have_count(41)
    assert questions(page) == ["one", *(f"more {number}" for number in range(40))]


def test_a_link_to_a_turn_leads_there_and_one_to_no_turn_says_so(page: Page, client: Client) -> None:
    for number in range(60):
        told = "A line of its own.\n\n" * (1 + number * 7 % 30)
        kept = client.engine.store.accept("link", f"Question {number + 1}").turns[-1].number
        client.engine.store.finish("link", kept, Ending("answered", told, (BERT,)))
    for number in (4, 45, 40):
        page.goto(client.address)
        page.goto(f"{client.address}/#/link/{number}")
        page.locator(f"#turn-{number}.found").wait_for()
        page.wait_for_timeout(1500)
        top = page.locator(f"#turn-{number}").evaluate("element => element.getBoundingClientRect().top")
        assert 0 <= top <= 80, number
    page.goto(f"{client.address}/#/link/99")
    page.get_by_text("There is no turn 99 in this conversation.").wait_for()


def test_a_stopped_answer_has_its_citations_when_it_is_loaded_again(page: Page, client: Client) -> None:
    number = client.engine.store.accept("stopped", "one").turns[-1].number
    client.engine.store.finish("stopped", number, Ending("interrupted", "BERT hides words [1].", (BERT,)))
    page.goto(f"{client.address}/#/stopped")
    page.locator("button.cite").click()
    assert page.locator("#source mark").inner_text() == "BERT hides words."


def test_two_pages_that_ask_at_once_show_the_same_order(page: Page, browser: Browser, client: Client) -> None:
    keep(client, "order", "one")
    other = browser.new_page()
    for each in (page, other):
        watched(each, f"{client.address}/#/order")
    for each, text in ((page, "asked late"), (other, "asked soon")):
        each.fill("#message", text)
        each.press("#message", "Enter")
    for each in (page, other):
        expect(each.locator(".turn footer")).to_have_count(3)
        assert questions(each) == ["one", "asked soon", "asked late"]
    other.close()


def test_the_turns_of_a_conversation_that_was_deleted_do_nothing_to_the_next_one(page: Page, client: Client) -> None:
    keep(client, "deleted", "one")
    watched(page, f"{client.address}/#/deleted")
    turn = page.locator(".turn").first
    turn.get_by_role("button", name="This answer helped").wait_for()
    client.send("DELETE", "/api/conversations/deleted")
    page.get_by_text("This conversation was deleted.").wait_for()
    assert turn.locator(".answer").inner_text() == "It answers one", "it can still be read"
    expect(turn.get_by_role("group")).to_be_hidden()
    expect(turn.locator(".edit")).to_be_hidden()
    page.fill("#message", "two")
    page.press("#message", "Enter")
    expect(page.locator(".turn footer")).to_have_count(1)
    assert questions(page) == ["two"]
    page.reload()
    expect(page.locator(".turn footer")).to_have_count(1)
    assert questions(page) == ["two"]
