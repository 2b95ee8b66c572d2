"""What holds for every test: no network but this machine's own, none of the user's settings, and one sample library."""

from __future__ import annotations

import ipaddress
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests import services
from tests.pdfs import make_pdf
from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.models import sessions, weights
from turnwise.models.local import LocalChat

hypothesis.settings.register_profile("patient", deadline=None)  # a busy machine is no fault
hypothesis.settings.load_profile("patient")

ONE_OF_SEVERAL = "PYTEST_XDIST_WORKER" in os.environ  # processes that share the tests, a file at a time


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where several processes share the tests, a file of each folder in turn: else all would drive browsers at once."""
    if ONE_OF_SEVERAL:
        places: dict[Path, dict[Path, int]] = {}
        for item in items:
            files = places.setdefault(item.path.parent, {})
            files.setdefault(item.path, len(files))
        items.sort(key=lambda item: places[item.path.parent][item.path])


@pytest.fixture(scope="session", autouse=True)
def _own_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No keys, endpoints or settings of the user's, and an empty account."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(("OPENAI_", "OTEL_", "TURNWISE_")):
                patch.delenv(name)
        home = tmp_path_factory.mktemp("account")
        for folder in ("DATA", "CACHE", "CONFIG", "STATE"):
            patch.setenv(f"XDG_{folder}_HOME", str(home / folder.lower()))
        yield


@pytest.fixture(scope="session", autouse=True)
def _weights_are_read_once() -> Iterator[None]:
    """The engines of one process share the networks of the same files: reading them anew is most of a short test."""

    def of_the_file(read: Callable[..., Any]) -> Callable[..., Any]:
        kept: dict[Any, Any] = {}

        def once(path: Path, *more: Any) -> Any:
            file = path.stat()
            which = (path, file.st_ino, file.st_size, file.st_mtime_ns, *more)
            if which not in kept:
                kept[which] = read(path, *more)
            return kept[which]

        return once

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions, "session_of", of_the_file(sessions.session_of))
        patch.setattr(weights, "sha256", of_the_file(weights.sha256))
        yield


class NetworkReached(RuntimeError):
    pass


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Reaching for another machine raises; and fails the test, should the code under test swallow that."""
    reached: list[Any] = []

    def refuse(host: Any) -> None:
        reached.append(host)
        raise NetworkReached(f"a test reached for {host!r}; only this machine's own addresses are open to tests")

    connect, connect_ex, resolve = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and not is_local(address[0]):
            refuse(address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        if self.family != socket.AF_UNIX and not is_local(address[0]):
            refuse(address)
        return connect_ex(self, address)

    def guarded_resolve(host: Any, *arguments: Any, **options: Any) -> Any:
        if host is not None and not is_local(host):
            refuse(host)
        return resolve(host, *arguments, **options)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_resolve)
    yield
    assert not reached, f"the test reached for {reached}"


def is_local(host: str | bytes) -> bool:
    """Whether a host is this machine; every name but localhost would have to be asked of another."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if name in ("", "localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


@pytest.fixture(scope="session")
def sample_folder() -> Path:
    return Path(str(resources.files("turnwise"))) / "sample"


@pytest.fixture(scope="session")
def closed_library(tmp_path_factory: pytest.TempPathFactory, sample_folder: Path) -> Path:
    """The folder of a library of the sample documents, words and vectors, made once, by one of the processes that test.
    Only copy it: to read the files of an open database by other means than SQLite's takes its locks away, and another
    process may then damage it."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if ONE_OF_SEVERAL else own) / "closed"
    with services.one_at_a_time(folder.with_suffix(".lock")):
        if not folder.exists():
            made = tmp_path_factory.mktemp("made")
            with build(Settings(library=str(made)), create=True) as engine:
                engine.add(sample_folder)
            made.rename(folder)
    return folder


@pytest.fixture(scope="session")
def sample_library(tmp_path_factory: pytest.TempPathFactory, closed_library: Path) -> Path:
    """A copy to be opened. Only add conversations to it, and never copy it."""
    return Path(shutil.copytree(closed_library, tmp_path_factory.mktemp("sample"), dirs_exist_ok=True))


@pytest.fixture(scope="session")
def sample_engine(sample_library: Path) -> Iterator[Engine]:
    """An engine over the sample library, for whole turns."""
    with build(Settings(library=str(sample_library))) as engine:
        yield engine


@pytest.fixture(scope="session")
def local_chat() -> LocalChat:
    """The real local model, which says little and always the same."""
    return LocalChat(temperature=0.0, max_tokens=12, threads=1)  # two would wait for each other on a busy machine


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[services.PostgresServer]:
    """A PostgreSQL of our own with pgvector; where there is none to be had, the test is skipped and says why."""
    try:
        with services.postgres() as server:
            server.create("tests")
            yield server
    except services.CannotInstall as reason:
        pytest.skip(str(reason))


@pytest.fixture
def postgres_url(postgres_server: services.PostgresServer) -> Iterator[str]:
    """The address of an empty database."""
    yield postgres_server.url("tests")
    postgres_server.empty("tests")


@pytest.fixture(scope="session")
def redis_server() -> Iterator[services.RedisServer]:
    """A Redis of our own; where there is none to be had, the test is skipped and says why."""
    try:
        with services.redis() as server:
            yield server
    except services.CannotInstall as reason:
        pytest.skip(str(reason))


@pytest.fixture(name="make_pdf")
def make_pdf_fixture() -> Callable[..., bytes]:
    return make_pdf
