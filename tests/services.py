"""A real PostgreSQL with pgvector and a real Redis for tests and benchmarks: found, or installed where that is
possible, and started on a temporary folder.

Debian's packages are used. Where pgvector is not packaged for the release, it is built from the source package of a
newer one, without the processor options of the machine that builds (OPTFLAGS=""), which others may lack.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NEWER_RELEASE = "trixie"  # of Debian; has pgvector 0.8
PASSWORD = "on this machine only"
OPTIONS = {
    "fsync": "off",  # what a power cut would do is not tested here
    "full_page_writes": "off",
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",
    "max_connections": "60",
    "listen_addresses": "127.0.0.1",
}
INSTALLING = Path(tempfile.gettempdir()) / f"turnwise-services-{os.geteuid()}.lock"  # held while something is installed


class CannotInstall(Exception):
    """Why there is no PostgreSQL with pgvector, or no Redis, on this machine."""


@dataclass
class PostgresServer:
    """A server of its own, on a free port of this machine."""

    folder: Path
    port: int
    binaries: Path
    user: str | None  # the unprivileged one that runs it, where we are root

    def url(self, database: str = "postgres", password: str = PASSWORD) -> str:
        return f"postgres://postgres:{password.replace(' ', '%20')}@127.0.0.1:{self.port}/{database}"

    def create(self, name: str) -> str:
        """The address of a new, empty database."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def empty(self, name: str) -> None:
        """Take all of Turnwise's out of a database, whoever still holds on to it."""
        import psycopg

        with psycopg.connect(self.url(name), autocommit=True, options="-c client_min_messages=warning") as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            connection.execute("DROP SCHEMA IF EXISTS turnwise CASCADE")

    def start(self) -> None:
        options = " ".join(f"-c {name}={value}" for name, value in OPTIONS.items())
        log = self.folder / "log"
        self._run(
            "pg_ctl", "start", "-w", "-D", str(self.folder / "data"), "-l", str(log),
            "-o", f"-p {self.port} -k {self.folder} {options}",
        )  # fmt: skip

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", str(self.folder / "data"))

    def initialise(self) -> None:
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        if self.user:
            shutil.chown(self.folder, self.user, self.user)
            shutil.chown(secret, self.user, self.user)
        self._run(
            "initdb", "-D", str(self.folder / "data"), "-U", "postgres", "-A", "scram-sha-256",
            "--pwfile", str(secret), "-E", "UTF8", "--locale", "C", "--no-sync",
        )  # fmt: skip

    def _run(self, program: str, *arguments: str) -> None:
        as_user: dict[str, Any] = {"user": self.user, "group": self.user, "extra_groups": []} if self.user else {}
        ran = subprocess.run(
            [self.binaries / program, *arguments],
            check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd="/", **as_user,
        )  # fmt: skip
        if ran.returncode:
            log = self.folder / "log"
            raise RuntimeError(f"{program} failed: {ran.stderr}{log.read_text() if log.exists() else ''}")


@contextlib.contextmanager
def postgres() -> Iterator[PostgresServer]:
    """A running server with pgvector to be had. Raises CannotInstall where there is none and none can be installed."""
    binaries = _binaries_with_vector()
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    server = PostgresServer(folder, _free_port(), binaries, "postgres" if os.geteuid() == 0 else None)
    try:
        server.initialise()
        server.start()
        yield server
    finally:
        with contextlib.suppress(RuntimeError):
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class RedisServer:
    """A Redis of its own, on a free port of this machine, that keeps nothing on disk."""

    folder: Path
    port: int
    program: str
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        options = {"port": self.port, "bind": "127.0.0.1", "dir": self.folder, "save": "", "appendonly": "no"}
        arguments = [str(each) for name, value in options.items() for each in (f"--{name}", value)]
        self.process = subprocess.Popen([self.program, *arguments], stdout=subprocess.DEVNULL, cwd=self.folder)
        deadline = time.monotonic() + 20
        while not self._answers():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError("redis-server did not start")
            time.sleep(0.02)

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1) as probe:
            probe.sendall(b"PING\r\n")
            return probe.recv(5) == b"+PONG"
        return False

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def halt(self) -> None:
        """Let it answer nothing while its connections stay open, until `resume`."""
        assert self.process
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def redis() -> Iterator[RedisServer]:
    """A running Redis. Raises CannotInstall where there is none and none can be installed."""
    program = _redis_program()
    folder = Path(tempfile.mkdtemp(prefix="redis-"))
    server = RedisServer(folder, _free_port(), program)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    """A port below those that systems hand out: no client takes it while its server is down or not yet up."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


@contextlib.contextmanager
def one_at_a_time(file: Path = INSTALLING) -> Iterator[None]:
    """Of the processes that come here with the same file, each waits for the one before."""
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _redis_program() -> str:
    with one_at_a_time():
        if found := shutil.which("redis-server"):
            return found
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            raise CannotInstall("redis-server is not installed, and only root on Debian or Ubuntu can add it")
        _apt("update")
        _apt("install", "redis-server")
        return shutil.which("redis-server") or ""


def _binaries_with_vector() -> Path:
    with one_at_a_time():
        if found := _found():
            return found
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            raise CannotInstall(
                "PostgreSQL with pgvector is not installed, and only root on Debian or Ubuntu can add it"
            )
        _install()
        if found := _found():
            return found
        raise CannotInstall("PostgreSQL with pgvector was installed, and is not where it should be")


def _found() -> Path | None:
    """The folder of the programs of the newest PostgreSQL that has pgvector."""
    candidates = [*Path("/usr/lib/postgresql").glob("*/bin/pg_config")]
    if on_path := shutil.which("pg_config"):
        candidates.append(Path(on_path))
    for config in sorted(candidates, key=_version, reverse=True):
        shared = Path(_output(config, "--sharedir"))
        binaries = Path(_output(config, "--bindir"))
        if (shared / "extension" / "vector.control").is_file() and (binaries / "initdb").is_file():
            return binaries
    return None


def _version(config: Path) -> float:
    said = re.search(r"\d+(\.\d+)?", _output(config, "--version"))
    return float(said.group()) if said else 0.0


def _output(program: Path, *arguments: str) -> str:
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def _install() -> None:
    _apt("update")
    _apt("install", "postgresql")
    (version, *_) = sorted((int(each.name) for each in Path("/usr/lib/postgresql").iterdir()), reverse=True)
    with contextlib.suppress(CannotInstall):
        _apt("install", f"postgresql-{version}-pgvector")
        return
    _apt("install", f"postgresql-server-dev-{version}", "build-essential")
    with tempfile.TemporaryDirectory() as folder:
        _build_vector(Path(folder), Path(f"/usr/lib/postgresql/{version}/bin/pg_config"))


def _build_vector(folder: Path, config: Path) -> None:
    sources, lists = folder / "sources.list", folder / "lists"
    lists.mkdir()
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    sources.write_text(f"deb-src [signed-by={keys}] {_mirror()} {NEWER_RELEASE} main\n")
    own = ["-o", f"Dir::Etc::SourceList={sources}", "-o", "Dir::Etc::SourceParts=-", "-o", f"Dir::State::Lists={lists}"]
    own += ["-o", "APT::Sandbox::User=root"]
    _apt(*own, "update")
    _apt(*own, "source", "--download-only", "pgvector", cwd=folder)
    archive = next(folder.glob("pgvector_*.orig.tar.*"))
    source = folder / "source"
    source.mkdir()
    _checked("tar", "xf", str(archive), "-C", str(source), "--strip-components=1", cwd=folder)
    options = [f"PG_CONFIG={config}", "OPTFLAGS=", "with_llvm=no"]
    _checked("make", "-j2", *options, cwd=source)
    _checked("make", "install", *options, cwd=source)


def _mirror() -> str:
    """Where this machine gets Debian from."""
    for listed in sorted(Path("/etc/apt").rglob("*.list")) + sorted(Path("/etc/apt").rglob("*.sources")):
        if found := re.search(r"^(?:URIs: *|deb .*?)(https?://\S+/debian/?)(?:\s|$)", listed.read_text(), re.M):
            return found.group(1)
    return "http://deb.debian.org/debian"


def _apt(*arguments: str, cwd: Path | None = None) -> None:
    _checked("apt-get", "-qq", "-y", "--no-install-recommends", *arguments, cwd=cwd)


def _checked(*command: str, cwd: Path | None = None) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    ran = subprocess.run(
        command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd, env=environment
    )
    if ran.returncode:
        raise CannotInstall(f"`{' '.join(command)}` failed: {ran.stdout[-500:]}")


if __name__ == "__main__":  # a server to look at, until Enter
    with postgres() as running:
        print(running.url())
        input()
