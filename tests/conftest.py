"""Fixtures that every test shares: no connection leaves loopback, and the research data where it lies."""

from __future__ import annotations

import ipaddress
import os
import socket
from pathlib import Path

import pytest

_connect = socket.socket.connect


def _is_local(address: object) -> bool:
    if not isinstance(address, tuple):
        return True  # a Unix socket
    host = str(address[0])
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(self: socket.socket, address: object) -> None:
        if not _is_local(address):
            raise AssertionError(f"a test tried to leave the machine: {address}")
        _connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", connect)


@pytest.fixture
def data_dir() -> Path:
    """The public research data; the test is skipped where it is missing."""
    default = Path(__file__).parent.parent.parent / "shared" / "data"
    path = Path(os.environ.get("RECUSE_DATA", default))
    if not path.is_dir():
        pytest.skip(f"no research data at {path}: set RECUSE_DATA to its folder")
    return path
