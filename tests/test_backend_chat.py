"""The form in which local engines are asked: templates, label spellings, settings as applied."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from recuse.backends import chat
from recuse.types import Ask, Message, Sampling

jinja2 = pytest.importorskip("jinja2", reason="needs jinja2, which transformers and vLLM bring")


class Tokenizer:
    """One token a character; a template that writes each role in brackets and may reject a system message."""

    def __init__(self, *, template: bool = True, system: bool = True) -> None:
        self.chat_template = "template" if template else None
        self._system = system

    def apply_chat_template(
        self, messages: list[dict[str, str]], *, tokenize: bool, add_generation_prompt: bool
    ) -> str:
        if messages[0]["role"] == "system" and not self._system:
            raise jinja2.exceptions.TemplateError("System role not supported")
        if messages[0]["role"] == "assistant":
            raise jinja2.exceptions.TemplateError("The user speaks first")
        text = "".join(f"[{m['role']}]{m['content']}" for m in messages)
        return text + "[assistant]" * add_generation_prompt

    def __call__(self, text: str, **_: Any) -> Any:
        return SimpleNamespace(input_ids=[ord(c) for c in text])


def _text(ids: list[int]) -> str:
    return "".join(map(chr, ids))


SYSTEM = [{"role": "system", "content": "Judge."}, {"role": "user", "content": "A or B?"}]


def test_a_template_is_used_as_it_is() -> None:
    ids, notes = chat.render(Tokenizer(), SYSTEM)
    assert (_text(ids), notes) == ("[system]Judge.[user]A or B?[assistant]", ())
    assert _text(chat.render(Tokenizer(), SYSTEM, reply=False)[0]) == "[system]Judge.[user]A or B?"


def test_a_system_message_that_the_template_rejects_goes_before_the_users_and_is_noted() -> None:
    ids, notes = chat.render(Tokenizer(system=False), SYSTEM)
    assert (_text(ids), notes) == ("[user]Judge.\n\nA or B?[assistant]", (chat.NO_SYSTEM,))


def test_a_tokenizer_without_a_template_gets_plain_text_and_is_noted() -> None:
    ids, notes = chat.render(Tokenizer(template=False), SYSTEM)
    assert (_text(ids), notes) == ("Judge.\n\nA or B?\n\n", (chat.NO_TEMPLATE,))


def test_a_conversation_that_no_form_fits_is_said() -> None:
    with pytest.raises(ValueError, match="The user speaks first"):
        chat.render(Tokenizer(), [{"role": "assistant", "content": "x"}])


def test_every_spelling_of_a_label_is_found() -> None:
    words = ["A", " A", "a", "\tB", "AB", " b", "An", ""]

    class Words:
        def __len__(self) -> int:
            return len(words)

        def batch_decode(self, rows: list[list[int]]) -> list[str]:
            return [words[i] for (i,) in rows]

    assert chat.spellings(Words(), ("A", "B")) == [0, 1, 2, 3, 5]
    assert chat.spellings(Words(), ()) == []


def _ask(repeat: int = 0, **sampling: Any) -> Ask:
    return Ask("p", "AB", (Message("user", "x"),), Sampling(**sampling), "h", ("A", "B"), repeat=repeat)


def test_settings_say_what_is_applied() -> None:
    assert chat.settings(_ask(temperature=None))["temperature"] == 1.0
    assert "seed" not in chat.settings(_ask(temperature=0.0, seed=3))  # greedy decoding draws nothing
    assert [chat.settings(_ask(repeat=r, temperature=0.5, seed=3))["seed"] for r in (0, 1, 2)] == [3, 4, 5]


def test_a_prompt_fits_up_to_the_last_token() -> None:
    assert chat.too_long(90, 10, 100) is None
    assert chat.too_long(91, 10, 100) == "context too long: 91 tokens and 10 to write, the limit is 100"
    assert chat.too_long(10**9, 1, None) is None


@pytest.mark.parametrize(
    ("cores", "load", "threads"), [(2, 0.0, 2), (2, 3.0, 1), (1, 5.0, 1), (16, 3.2, 13), (16, 40, 8)]
)
def test_busy_cores_are_left_to_others(monkeypatch: pytest.MonkeyPatch, cores: int, load: float, threads: int) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    assert chat.free_cores() == threads
