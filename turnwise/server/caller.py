"""Where a request comes from."""

from __future__ import annotations

import ipaddress
import re

from starlette.requests import Request

_WITH_PORT = re.compile(r"\[([0-9a-fA-F:.%]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+")


def address_of(sent: Request, proxies: int) -> str:
    """The address that a request came from. X-Forwarded-For is trusted only for what our own proxies wrote: each
    appends the address it heard from, and anyone may have sent what stands before that."""
    peer = sent.client.host if sent.client else ""
    if proxies <= 0:
        return peer
    named = [each.strip() for line in sent.headers.getlist("x-forwarded-for") for each in line.split(",")]
    if len(named) < proxies:
        return peer
    said = named[-proxies]
    with_port = _WITH_PORT.fullmatch(said)
    address = (with_port[1] or with_port[2]) if with_port else said
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return peer
