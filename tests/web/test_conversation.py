"""A whole conversation in a real browser, over the real engine and a few documents of the sample library."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.server.run import running

pytest.importorskip("playwright", reason="the page is tested with Playwright: pip install 'turnwise[dev]'")

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = Settings(library=str(tmp_path_factory.mktemp("library")))
    with build(settings, create=True) as engine:
        sample = Path(str(resources.files("turnwise"))) / "sample"
        engine.index.add([sample / "bert.md", sample / "gpt.md"])
        with running(engine) as address:
            yield address


def test_ask_follow_up_open_a_source_reload(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_text("2 documents").wait_for()
    for number, question in enumerate(("What is BERT?", "How does it compare to GPT?")):
        page.fill("#message", question)
        page.press("#message", "Enter")
        page.locator(".turn footer").nth(number).wait_for()

    second = page.locator(".turn").nth(1)
    assert "BERT" in second.locator(".searched b").inner_text()
    titles = second.locator(".chip").all_inner_texts()
    assert any("BERT" in title for title in titles)
    assert any("GPT" in title for title in titles)

    second.locator("button.cite").first.click()
    assert page.locator("#source-text").inner_text().strip()
    page.keyboard.press("Escape")

    told = second.locator(".answer").inner_text()
    page.reload()
    assert page.locator(".turn").nth(1).locator(".answer").inner_text() == told
    assert page.locator("#earlier a").count() == 1
