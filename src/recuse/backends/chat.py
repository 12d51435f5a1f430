"""What the local engines share: chat form, spellings of the labels, settings as applied, processor cores."""

from __future__ import annotations

import os
from typing import Any

from recuse.types import Ask

NO_TEMPLATE = "the tokenizer has no chat template: messages were joined as plain text"
NO_SYSTEM = "the chat template takes no system message: it was put before the user's"


def messages_of(ask: Ask) -> list[dict[str, str]]:
    return [{"role": m.role, "content": m.content} for m in ask.messages]


def settings(ask: Ask) -> dict[str, Any]:
    """Sampling as a local engine applies it. It has no default of its own, so a temperature of None means 1.

    Each repeat of an ask gets the next seed; with one seed for all of them they would be one observation.
    """
    s = ask.sampling
    temperature = 1.0 if s.temperature is None else s.temperature
    body: dict[str, Any] = {"messages": messages_of(ask), "temperature": temperature, "max_tokens": s.max_tokens}
    if temperature > 0 and s.seed is not None:
        body["seed"] = s.seed + ask.repeat
    if s.top_logprobs:
        body["top_logprobs"] = s.top_logprobs
        body["labels"] = list(ask.labels)
    return body


def render(tokenizer: Any, messages: list[dict[str, str]], *, reply: bool = True) -> tuple[list[int], tuple[str, ...]]:
    """Token ids of a conversation in the model's chat form, and notes on what the form could not take.

    `reply`: end with the header of the assistant's turn, for a model that is to write one. Raises ValueError when the
    template rejects the conversation.
    """
    if not tokenizer.chat_template:
        text = "\n\n".join(m["content"] for m in messages) + ("\n\n" if reply else "")
        return list(tokenizer(text).input_ids), (NO_TEMPLATE,)
    from jinja2.exceptions import TemplateError

    notes: tuple[str, ...] = ()
    try:
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=reply)
    except TemplateError as error:
        if messages[0]["role"] != "system" or len(messages) < 2:
            raise ValueError(f"the chat template rejects this conversation: {error}") from error
        joined = {"role": messages[1]["role"], "content": f"{messages[0]['content']}\n\n{messages[1]['content']}"}
        ids, _ = render(tokenizer, [joined, *messages[2:]], reply=reply)
        return ids, (NO_SYSTEM,)
    return list(tokenizer(text, add_special_tokens=False).input_ids), notes


def spellings(tokenizer: Any, labels: tuple[str, ...]) -> list[int]:
    """Ids of all tokens that read as one of `labels`, with or without blanks around it and in any case."""
    if not labels:
        return []
    tokens = tokenizer.batch_decode([[i] for i in range(len(tokenizer))])
    return [i for i, token in enumerate(tokens) if is_label(token, labels)]


def is_label(token: str, labels: tuple[str, ...]) -> bool:
    return token.strip().casefold() in {label.casefold() for label in labels}


def too_long(prompt: int, reply: int, limit: int | None) -> str | None:
    """Why a prompt and a reply of so many tokens do not fit into a context of `limit`; None when they do."""
    if limit is None or prompt + reply <= limit:
        return None
    return f"context too long: {prompt} tokens and {reply} to write, the limit is {limit}"


def free_cores() -> int:
    """Threads for an engine on the CPU: the cores that nobody uses now, but at least half of all.

    An engine's threads meet many times a token and spin while they wait. On two cores that others used as well, two
    threads of llama.cpp answered 0.4 asks a second for 2.3 s of CPU each, one thread 1.75 for 0.43 s; transformers took
    seven times as long with two.
    """
    cores = os.cpu_count() or 1
    busy = round(os.getloadavg()[0]) if hasattr(os, "getloadavg") else 0
    return max(1, cores // 2, cores - busy)
