"""The connection to Ray: a cluster that RAY_ADDRESS names, one that this process knows already, or one started here."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

from recuse.backends.base import require
from recuse.errors import ProviderError, UsageError

# Set before the import and only where the user has not: no message to the makers, GPUs left as they are seen.
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",
}
# Ray listens without a password, on every interface; this has what is started here listen on loopback alone.
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
# One try, of three quarters of a minute, at an address where something else than Ray listens; Ray makes twenty.
_ONE_TRY = {"RAY_NUM_REDIS_GET_RETRIES": "1"}
_STORE = 256 * 2**20  # bytes of shared memory: calls and replies are small, and Ray would take a third of all
_TIMEOUT = 5.0  # seconds for an address to answer

_joined = 0  # backends that use a connection which was made here
_started = False  # whether that connection is to a Ray that was started here


@dataclass
class Cluster:
    ray: ModuleType
    ours: bool  # started here: this machine alone
    made_here: bool  # the connection, which ends with the last backend that uses it

    @property
    def gpus(self) -> float:
        return float(self.ray.cluster_resources().get("GPU", 0.0))

    def leave(self) -> None:
        """Close the connection where nobody uses it any more, and stop what was started here. Idempotent."""
        global _joined
        if self.made_here:
            self.made_here = False
            _joined -= 1
            if not _joined:
                self.ray.shutdown()


def connect() -> Cluster:
    """Raises MissingExtra without Ray, UsageError for an address at which no cluster answers, ProviderError for one
    that will not have us."""
    global _joined, _started
    address = os.environ.get("RAY_ADDRESS", "").strip() or "local"
    if address != "local":
        _check(address)
    for name, value in {**_ENVIRONMENT, **(_LOOPBACK if address == "local" else _ONE_TRY)}.items():
        os.environ.setdefault(name, value)
    ray = require("ray", "ray")
    if ray.is_initialized():
        if _joined:
            _joined += 1
        return Cluster(ray, ours=_joined > 0 and _started, made_here=_joined > 0)
    own = {"include_dashboard": False, "object_store_memory": _STORE} if address == "local" else {}
    try:
        with _signals_kept():
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except (OSError, RuntimeError, ValueError) as error:
        said = " ".join(str(error).split())[:300]
        what = "Ray does not start here" if address == "local" else f"The Ray cluster at {address} cannot be used"
        raise ProviderError(f"{what}: {said}") from None
    # Ray writes messages of its own to standard output, which carries a command's result; it has no setting for that.
    ray._private.worker._worker_logs_enabled = False
    _joined, _started = 1, address == "local"
    return Cluster(ray, ours=_started, made_here=True)


def _check(address: str) -> None:
    """Raise UsageError for an address that nobody answers at: Ray itself would try for minutes."""
    if address.startswith("ray://"):
        raise UsageError(
            f"RAY_ADDRESS is {address}: Ray's client cannot stream replies.",
            hint="Run recuse on a machine of the cluster, with RAY_ADDRESS=auto or HOST:6379.",
        )
    if address == "auto":
        return
    host, colon, port = address.rpartition(":")
    hint = "Write HOST:6379, or auto on a machine of the cluster; without it Ray is started on this machine."
    if not (colon and host and port.isdecimal() and 0 < int(port) < 65536):
        raise UsageError(f"RAY_ADDRESS is {address!r}, which is no address.", hint=hint)
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_TIMEOUT).close()
    except OSError as error:
        said = error.strerror or str(error)
        raise UsageError(f"No Ray cluster answers at RAY_ADDRESS={address} ({said}).", hint=hint) from None


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray takes SIGTERM for itself, which belongs to the run: its calls in flight are waited for."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
