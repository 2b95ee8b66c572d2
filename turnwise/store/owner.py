"""Who is answering a turn: the name of a process, and whether the process of that name is still at work."""

from __future__ import annotations

import os
import secrets
from functools import lru_cache
from pathlib import Path


@lru_cache
def this_machine() -> str:
    """A name for where the numbers of processes are ours: this machine since it started, and the container in it. No
    two have the same; where the system does not say, each process has a name of its own."""
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{started}.{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return secrets.token_hex(16)


def this_process() -> str:
    """The name under which this process takes a turn, as "pid:token"; no other process ever has the same."""
    return _name(os.getpid())


def at_work(name: str) -> bool:
    """Whether the process of that name has not ended."""
    pid = int(name.partition(":")[0])
    if pid == os.getpid():
        return name == this_process()
    return _running(pid) and _token(pid) in (name.partition(":")[2], None)


def here() -> str:
    """The name of this process among those of all machines."""
    return f"{this_machine()}/{this_process()}"


def is_gone(name: str) -> bool:
    """Whether the process of such a name is seen to have ended: nothing is seen from another machine."""
    machine, _, process = name.partition("/")
    return machine == this_machine() and not at_work(process)


@lru_cache
def _name(pid: int) -> str:
    return f"{pid}:{_token(pid) or secrets.token_hex(8)}"


def _running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it runs, under another user
    return True


def _token(pid: int) -> str | None:
    """When the process started, since its number is soon given to another; None where the system does not say."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return "ended" if state == "Z" else fields[18]
