"""The tools of `turnwise mcp`, as a real client calls them over stdin and stdout."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters

MAIN = "from turnwise.cli import main; main()"


def talk(library: Path, work: Callable[[Client], Awaitable[None]], *options: str) -> None:
    """Do this with a client of a server of its own."""
    arguments = ["-c", MAIN, "mcp", "--library", str(library), *options]
    server = StdioServerParameters(command=sys.executable, args=arguments, cwd=str(Path(__file__).parents[1]))

    async def connected() -> None:
        async with Client(server) as client:
            await work(client)

    asyncio.run(connected())


async def call(client: Client, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """The words and the values of what a tool gave."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    (content,) = result.content
    return content.text, result.structured_content  # type: ignore[union-attr]


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)  # type: ignore[union-attr]


def test_an_assistant_searches_asks_and_follows_up(sample_library: Path) -> None:
    async def work(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"search", "ask", "list_documents"}
        assert all(tool.description and tool.output_schema for tool in tools.values())
        words, found = await call(client, "search", query="How is BERT trained?", k=3)
        assert 0 < len(found["passages"]) <= 3
        assert found["passages"][0]["text"] in words
        assert "BERT" in found["passages"][0]["title"]
        words, listed = await call(client, "list_documents")
        assert listed["total"] == len(listed["documents"])
        assert all(each["title"] in words for each in listed["documents"])
        words, first = await call(client, "ask", question="What is BERT?")
        assert "[1]" in first["answer"]
        assert first["answer"] in words
        assert first["sources"][0]["number"] == 1
        read = await client.read_resource(first["sources"][0]["uri"])
        assert first["sources"][0]["quote"] in read.contents[0].text  # type: ignore[union-attr]
        _, second = await call(client, "ask", question="How is it trained?", conversation_id=first["conversation_id"])
        assert second["conversation_id"] == first["conversation_id"]
        assert "BERT" in second["condensed_query"]
        _, alone = await call(client, "ask", question="How is it trained?")
        assert alone["conversation_id"] != first["conversation_id"]

    talk(sample_library, work)


def test_what_goes_wrong_is_told_in_plain_words(sample_library: Path) -> None:
    async def work(client: Client) -> None:
        for nothing_said in ("", "   "):
            told = await refused(client, "ask", question=nothing_said)
            assert told.endswith("The message is empty. Write a question.")
            told = await refused(client, "search", query=nothing_said)
            assert told.endswith("The query is empty. Send words or a question.")
        assert (await refused(client, "search", query="BERT", k=0)).endswith("k is 0. Ask for 1 to 20 passages.")
        _, nothing = await call(client, "search", query="BERT", collection="there is none of that name")
        assert nothing["passages"] == []
        with pytest.raises(MCPError, match="no such passage"):
            await client.read_resource("turnwise://passages/99999999")
        with pytest.raises(MCPError, match="no such passage"):
            await client.read_resource("turnwise://passages/x")

    talk(sample_library, work)


def test_without_a_library_it_says_so_and_nothing_on_stdout(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MAIN, "mcp", "--library", str(tmp_path / "none")]
    ended = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "There is no library" in ended.stderr


def test_a_missing_extra_is_said_with_how_to_install_it(sample_library: Path) -> None:
    code = (
        f"import sys; sys.modules['mcp'] = None; sys.argv[1:] = ['mcp', '--library', {str(sample_library)!r}]; {MAIN}"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "pip install 'turnwise[mcp]'" in ended.stderr
