"""Files on their way from the page: where they go, what waits for them, and what is taken back. What the server says of
them is written here, so that it says it late."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest

from tests.server.scripted import Client, serving

pytest.importorskip("playwright", reason="the page is tested with Playwright: pip install 'turnwise[dev]'")

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("page")) as client:
        yield client


class Reading:
    """Takes the files of a page, and says that they are read when it is told to."""

    def __init__(self, page: Page, path: str) -> None:
        self.sent: list[str] = []  # the addresses, in order
        self._waiting: list[Route] = []
        self._page = page
        page.route(re.compile(path), self._take)

    def _take(self, route: Route) -> None:
        if route.request.method != "PUT":
            return route.fallback()
        self.sent.append(unquote(route.request.url))
        self._waiting.append(route)
        return None

    def wait(self, number: int) -> None:
        for _ in range(200):
            if len(self.sent) >= number:
                return
            self._page.wait_for_timeout(50)
        raise AssertionError(self.sent)

    def read(self, **more: Any) -> None:
        """One is read."""
        name = unquote(self._waiting[0].request.url).rpartition("/")[2].partition("?")[0]
        told = {"id": len(self.sent), "name": name, "title": name, "status": "ready", "passages": 4, "pending": 0}
        self._waiting.pop(0).fulfill(status=201, body=json.dumps({**told, "outcome": "added", **more}))


def files(*names: str) -> list[Any]:
    return [{"name": name, "mimeType": "text/plain", "buffer": b"A wombat sleeps."} for name in names]


def attach(page: Page, *names: str) -> None:
    page.set_input_files("#attach-file", files(*names))
    page.get_by_role("button", name="Add", exact=True).click()


def test_files_go_to_the_conversation_they_were_dropped_in(page: Page, client: Client) -> None:
    reading = Reading(page, "/attachments/")
    page.goto(client.address)
    page.locator("body.may-edit").wait_for()
    attach(page, "one.txt", "two.txt")
    reading.wait(1)
    page.get_by_role("button", name="New conversation", exact=True).click()
    expect(page.locator("#attached")).to_be_hidden()
    reading.read()
    reading.wait(2)
    first, second = (each.rpartition("/")[0] for each in reading.sent)
    assert first == second
    expect(page.locator("#attached")).to_be_hidden()
    reading.read()


def test_a_question_waits_for_what_is_being_attached_and_can_be_stopped(page: Page, client: Client) -> None:
    reading = Reading(page, "/attachments/")
    page.goto(client.address)
    page.locator("body.may-edit").wait_for()
    attach(page, "one.txt")
    reading.wait(1)
    asked = len(client.engine.requests)
    for wanted in ("Stop", "What sleeps?"):
        page.fill("#message", wanted)
        page.press("#message", "Enter")
        page.get_by_text("Reading what you attached").wait_for()
        assert len(client.engine.requests) == asked
        if wanted == "Stop":
            page.click("#stop")
            page.locator(".notice", has_text="You stopped this answer.").wait_for(timeout=3000)
    reading.read()
    page.locator(".turn .answer", has_text="hides").wait_for()
    assert [each.message for each in client.engine.requests[asked:]] == ["What sleeps?"]


def test_many_attachments_leave_room_for_the_answers(page: Page, client: Client) -> None:
    Reading(page, "/attachments/")
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(client.address)
    page.locator("body.may-edit").wait_for()
    attach(page, *(f"a rather long name of file {number}.txt" for number in range(30)))
    expect(page.locator("#attached li")).to_have_count(30)
    foot = page.locator("#foot").bounding_box()
    assert foot
    assert foot["height"] < 400


def test_files_go_to_the_collection_that_was_chosen_for_them(page: Page, client: Client) -> None:
    reading = Reading(page, "/api/documents/")
    page.goto(client.address)
    page.get_by_role("button", name="Documents").click()
    page.fill("#upload-collection", "birds")
    page.set_input_files("#library-file", files("one.txt", "two.txt", "three.txt"))
    reading.wait(2)
    page.fill("#upload-collection", "cats")
    reading.read()
    reading.wait(3)
    assert all(each.endswith("?collection=birds") for each in reading.sent)


def test_a_file_that_is_taken_off_the_list_is_not_sent(page: Page, client: Client) -> None:
    reading = Reading(page, "/api/documents/")
    page.goto(client.address)
    page.get_by_role("button", name="Documents").click()
    page.set_input_files("#library-file", files("one.txt", "two.txt", "three.txt", "four.txt"))
    reading.wait(2)
    page.get_by_role("button", name="Take three.txt off this list").click()
    reading.read()
    reading.wait(3)
    assert "four.txt" in reading.sent[2]
    with page.expect_event("requestfailed", lambda request: "two.txt" in request.url, timeout=5000):
        page.get_by_role("button", name="Take two.txt off this list").click()


def test_the_next_file_does_not_wait_until_one_is_learned(page: Page, client: Client) -> None:
    reading = Reading(page, "/api/documents/")
    learned = {"id": 1, "name": "one.txt", "title": "One", "passages": 9000, "pending": 8000, "status": "embedding"}
    page.route(re.compile(r"/api/documents/1$"), lambda route: route.fulfill(body=json.dumps(learned)))
    page.goto(client.address)
    page.get_by_role("button", name="Documents").click()
    page.set_input_files("#library-file", files("one.txt", "two.txt", "three.txt", "four.txt"))
    reading.wait(2)
    for number in (3, 4):
        reading.read(id=1, passages=9000, pending=9000, status="embedding")
        reading.wait(number)
    expect(page.locator("#uploads li").first).to_contain_text("1000 of 9000 passages")
    learned.update(pending=0, status="ready")
    expect(page.locator("#uploads li").first).to_contain_text("9,000 passages learned")
