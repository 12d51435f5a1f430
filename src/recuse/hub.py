"""The Hugging Face hub before its libraries are let loose on it: whether it answers, and what of it is here already.

Where nothing answers, the libraries try again and again: 54 s and 22 lines on the terminal for a judge, 99 s and 33
lines for embeddings.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def unreachable(*, seconds: float) -> str | None:
    """Why the hub cannot be reached, with its address; None where it answers, however oddly.

    One request, with `seconds` for its first answer, to HF_ENDPOINT or the public hub, through the environment's
    proxies. Nothing is asked, and None said, with HF_HUB_OFFLINE, with ALL_PROXY, which the libraries can use and
    urllib cannot, and with VLLM_USE_MODELSCOPE, which takes models from another hub.
    """
    import ssl
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, build_opener, getproxies

    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE or "all" in getproxies() or os.environ.get("VLLM_USE_MODELSCOPE"):
        return None
    try:
        # urlopen would keep the proxies of its first call
        build_opener().open(Request(constants.ENDPOINT, method="HEAD"), timeout=seconds).close()
    except OSError as error:  # HTTPError is one of them
        reason = getattr(error, "reason", error)
        if (isinstance(error, HTTPError) and error.code < 500) or isinstance(reason, ssl.SSLError):
            return None  # it answers; the libraries may trust more certificates than Python
        return f"the hub {constants.ENDPOINT} cannot be reached ({reason})"
    except HTTPException:
        return None
    return None


def downloaded(model: str) -> bool:
    """Whether files of this model lie in the caches of the hub's libraries.

    sentence-transformers may have a cache of its own, and puts its own name before a model without an owner.
    """
    from huggingface_hub import constants

    folders = [Path(constants.HF_HUB_CACHE)]
    if own := os.environ.get("SENTENCE_TRANSFORMERS_HOME"):
        folders.append(Path(own))
    names = [model] if "/" in model else [model, f"sentence-transformers/{model}"]
    return any(
        any((folder / f"models--{name.replace('/', '--')}" / "snapshots").glob("*/*"))
        for folder in folders
        for name in names
    )


@contextmanager
def errors_only(*names: str) -> Iterator[None]:
    """Nothing below an error from these loggers, until the end; then as before."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
