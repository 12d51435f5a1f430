"""llama.cpp on real weights: probabilities, restrictions, seeds, its two public protocols, and files it cannot load."""

from __future__ import annotations

import json
import math
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from engine_asks import answer, label_asks, question

from recuse.backends import Options, open_backend
from recuse.backends.llamacpp import LlamaCpp, open
from recuse.errors import InputError
from recuse.prompts import load_prompt
from recuse.verdict import read

pytestmark = pytest.mark.engine
pytest.importorskip("xllamacpp", reason="needs xllamacpp: pip install 'recuse[llamacpp]'")
LABELS = ("A", "B")


@pytest.fixture(scope="module")
def judge(smollm2: Path) -> Iterator[LlamaCpp]:
    backend = open("smollm2", Options(max_context=1024))
    yield backend
    backend.close()


def test_first_token_probabilities_are_a_distribution_and_its_peak_is_the_text(judge: LlamaCpp) -> None:
    for reply in answer(judge, label_asks(3)):
        assert reply.logprobs is not None
        tokens = dict(reply.logprobs)
        assert len(tokens) == len(reply.logprobs)
        assert 0.3 < sum(math.exp(p) for p in tokens.values()) <= 1 + 1e-6
        assert max(tokens, key=tokens.__getitem__) == reply.text
        assert set(LABELS) <= tokens.keys()


def test_a_reply_carries_its_counts_and_the_weights_name(judge: LlamaCpp) -> None:
    first, again = (answer(judge, [question("Name a colour.", max_tokens=3)])[0] for _ in range(2))
    assert (first.finish, first.tokens_out, first.error) == ("length", 3, None)
    assert first.model == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert first.tokens_in is not None
    assert again.tokens_cached is not None
    assert 0 < again.tokens_cached < first.tokens_in  # the shared prefix is read once
    assert again.text == first.text  # greedy decoding repeats itself


def test_a_label_costs_one_decoded_token(judge: LlamaCpp) -> None:
    (reply,) = answer(judge, label_asks(1)[:1])
    assert (reply.tokens_out, reply.finish) == (1, "length")


def test_a_choice_is_always_a_label_though_the_model_would_say_something_else(judge: LlamaCpp) -> None:
    free, bound = answer(
        judge, [question("Say hello.", labels=LABELS), question("Say hello.", labels=LABELS, choice=True)]
    )
    assert free.text not in LABELS
    assert bound.text in LABELS


def test_a_schema_is_kept(judge: LlamaCpp) -> None:
    schema = {
        "type": "object",
        "properties": {"verdict": {"enum": ["A", "B"]}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    (reply,) = answer(judge, [question("Say hello.", schema=schema, max_tokens=40)])
    assert json.loads(reply.text)["verdict"] in LABELS


def test_a_seed_repeats_a_draw_and_the_next_repeat_has_another(judge: LlamaCpp) -> None:
    # One at a time: two that share a batch get other sums, and a draw near a boundary falls to the other side.
    asks = [question("Tell me a story.", temperature=1.0, seed=5, repeat=r, max_tokens=12) for r in (0, 0, 1)]
    same, again, other = (answer(judge, [ask])[0].text for ask in asks)
    assert same == again != other


def test_an_ask_that_is_too_long_fails_alone(judge: LlamaCpp) -> None:
    long, short = answer(judge, [question("word " * 1500), question("Say hello.")])
    assert (long.finish, long.text) == ("error", "")
    assert "context" in str(long.error)
    assert short.finish != "error"


def test_the_openai_adapter_reads_the_same_probabilities_from_the_server(
    judge: LlamaCpp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", judge.key)
    api = open_backend("openai/smollm2", Options(base_url=judge.base_url, concurrency=1))
    asks = label_asks(2)
    spec = load_prompt("pairwise/label").spec
    for direct, through in zip(answer(judge, asks), answer(api, asks), strict=True):
        assert through.text == direct.text
        # A prefix that was read before makes for other sums; 0.05 is far below what a wrong prompt would move.
        assert read(through, spec).p_first == pytest.approx(read(direct, spec).p_first, abs=0.05)
    api.close()


def test_the_anthropic_adapter_gets_the_same_text_from_the_server(
    judge: LlamaCpp, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("anthropic", reason="needs anthropic: pip install 'recuse[anthropic]'")
    monkeypatch.setenv("ANTHROPIC_API_KEY", judge.key)
    address = judge.base_url.removesuffix("/v1")
    api = open_backend("anthropic/smollm2", Options(base_url=address, concurrency=1))
    ask = question("Name a colour.", max_tokens=6)
    (direct,), (through,) = answer(judge, [ask]), answer(api, [ask])
    assert through.finish == "length"
    assert through.text == direct.text
    api.close()


def test_a_closed_server_listens_no_more_and_nothing_was_printed(
    smollm2: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    backend = open("smollm2", Options(max_context=256, concurrency=1))
    address = urlsplit(backend.base_url)
    place = (address.hostname, address.port)
    socket.create_connection(place, timeout=5).close()
    backend.close()
    backend.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(place, timeout=5)
    assert capfd.readouterr() == ("", "")


def test_a_wrong_key_is_refused(judge: LlamaCpp, monkeypatch: pytest.MonkeyPatch) -> None:
    from recuse.errors import AuthError

    monkeypatch.setenv("OPENAI_API_KEY", "another")
    api = open_backend("openai/smollm2", Options(base_url=judge.base_url, concurrency=1))
    with pytest.raises(AuthError):
        answer(api, [question("Say hello.")])
    api.close()


def test_a_file_that_cannot_be_loaded_is_said_in_one_sentence(smollm2: Path, tmp_path: Path) -> None:
    with smollm2.open("rb") as file:
        head = file.read(3_000_000)
    (tmp_path / "torn.gguf").write_bytes(head)
    (tmp_path / "text.gguf").write_text("hello")
    for name, problem in {"torn": "cannot load", "text": "not a GGUF file", "none": "no such file"}.items():
        with pytest.raises(InputError, match=problem) as caught:
            open(str(tmp_path / f"{name}.gguf"), Options())
        assert f"{name}.gguf" in str(caught.value)
        assert "\n" not in str(caught.value)
