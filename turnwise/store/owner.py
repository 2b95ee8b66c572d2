"""Which process is answering a turn: names for processes, and whether the process with a name is still running."""

from __future__ import annotations

import os
import secrets
from functools import lru_cache
from pathlib import Path


@lru_cache
def this_machine() -> str:
    """A unique name for the scope of our process ids: this machine since it booted, and the container on it. If the
    system does not tell, each process has a name of its own."""
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{started}.{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return secrets.token_hex(16)


def this_process() -> str:
    """The name under which this process accepts a turn, "pid:token". No other process ever has the same."""
    return _name(os.getpid())


def at_work(name: str) -> bool:
    """Whether the process with that name is still running."""
    pid = int(name.partition(":")[0])
    if pid == os.getpid():
        return name == this_process()
    return _is_running(pid) and _token(pid) in (name.partition(":")[2], None)


def here() -> str:
    """The name of this process, unique across machines."""
    return f"{this_machine()}/{this_process()}"


def is_gone(name: str) -> bool:
    """Whether the process with such a name is known to have ended. Nothing is known of other machines."""
    machine, _, process = name.partition("/")
    return machine == this_machine() and not at_work(process)


@lru_cache
def _name(pid: int) -> str:
    return f"{pid}:{_token(pid) or secrets.token_hex(8)}"


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is running as another user
    return True


def _token(pid: int) -> str | None:
    """When the process started, because process ids are reused; or None if the system does not tell."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return "ended" if state == "Z" else fields[18]
