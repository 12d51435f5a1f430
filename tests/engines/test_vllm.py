"""vLLM on real weights. Runs where vLLM is installed, which may be an environment of its own."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from importlib import util
from pathlib import Path

import pytest
from engine_asks import answer, label_asks, question

from recuse.backends import Options
from recuse.backends.vllm import RESTRICTED, VLLM, open
from recuse.errors import InputError
from recuse.prompts import load_prompt
from recuse.types import Call
from recuse.verdict import read

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(util.find_spec("vllm") is None, reason="needs vllm: pip install 'recuse[vllm]'"),
    # Its own modules use what their libraries have deprecated.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]
SPEC = load_prompt("pairwise/label").spec


@pytest.fixture(scope="module")
def judge(smollm2_folder: Path) -> Iterator[VLLM]:
    backend = open(str(smollm2_folder), Options(max_context=1024))
    yield backend
    backend.close()


def test_probabilities_of_the_labels_are_exact_whatever_else_is_in_the_batch(judge: VLLM) -> None:
    asks = label_asks(4)
    together = answer(judge, asks)
    for ask, reply in zip(asks[:2], together, strict=False):
        alone = answer(judge, [ask])[0]
        assert reply.logprobs is not None
        assert {"A", "B", " A", " B"} <= dict(reply.logprobs).keys()
        assert sum(math.exp(p) for _, p in reply.logprobs) <= 1 + 1e-6
        assert read(alone, SPEC).p_first == pytest.approx(read(reply, SPEC).p_first, abs=1e-4)
        assert alone.text == reply.text


def test_a_shared_prefix_is_read_once(judge: VLLM) -> None:
    (ask,) = label_asks(1)[:1]
    first, again = (answer(judge, [ask])[0] for _ in range(2))
    assert again.tokens_cached is not None
    assert first.tokens_in is not None
    assert 0 < again.tokens_cached < first.tokens_in


def test_a_label_costs_one_decoded_token_and_only_labels_are_asked_for_by_id(judge: VLLM) -> None:
    (ask,) = label_asks(1)[:1]
    (reply,) = answer(judge, [ask])
    assert (reply.tokens_out, reply.finish) == (1, "length")
    parameters = judge._parameters(Call("key", ask, judge.body(ask)))
    read_by_id = {judge._tokenizer.decode([i]).strip().upper() for i in parameters.logprob_token_ids}
    assert (read_by_id, parameters.logprobs) == ({"A", "B"}, None)
    assert reply.logprobs is not None
    assert {token.strip().upper() for token, _ in reply.logprobs} <= {"A", "B", reply.text.strip().upper()}


def test_a_choice_of_single_tokens_leaves_the_mass_outside_visible(judge: VLLM) -> None:
    free, bound = answer(
        judge,
        [
            question("Say hello.", labels=("A", "B"), top_logprobs=20),
            question("Say hello.", labels=("A", "B"), top_logprobs=20, choice=True),
        ],
    )
    assert free.text not in ("A", "B")
    assert bound.text in ("A", "B")
    assert (bound.finish, bound.notes) == ("stop", ())
    outside = read(bound, SPEC).outside
    assert outside is not None
    assert outside > 0.9
    assert outside == pytest.approx(read(free, SPEC).outside, abs=1e-3)


def test_a_choice_of_longer_labels_is_kept_and_says_what_it_does_to_probabilities(judge: VLLM) -> None:
    labels = ("The first one", "The second one")
    (reply,) = answer(judge, [question("Say hello.", labels=labels, top_logprobs=20, choice=True, max_tokens=12)])
    assert reply.text in labels
    assert reply.notes == (RESTRICTED,)


def test_a_schema_is_kept(judge: VLLM) -> None:
    schema = {
        "type": "object",
        "properties": {"verdict": {"enum": ["A", "B"]}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    (reply,) = answer(judge, [question("Say hello.", schema=schema, max_tokens=60)])
    assert json.loads(reply.text)["verdict"] in ("A", "B")


def test_a_seed_repeats_a_draw_and_the_next_repeat_has_another(judge: VLLM) -> None:
    asks = [question("Tell me a story.", temperature=1.0, seed=5, repeat=r, max_tokens=10) for r in (0, 0, 1)]
    # One ask twice in a call would share its key; hence one call each.
    same, again, other = (answer(judge, [ask])[0].text for ask in asks)
    assert same == again != other


def test_an_ask_that_is_too_long_fails_alone(judge: VLLM) -> None:
    long, short = answer(judge, [question("word " * 1500), question("Say hello.", max_tokens=2)])
    assert (long.finish, long.text) == ("error", "")
    assert str(long.error).startswith("context too long: ")
    assert (short.finish, short.tokens_out) == ("length", 2)


def test_a_run_that_is_left_early_leaves_nothing_in_the_engine(judge: VLLM) -> None:
    asks = [question(f"Count to {i}.", max_tokens=4) for i in range(6)]
    replies = judge.generate(Call(str(i), ask, judge.body(ask)) for i, ask in enumerate(asks))
    next(iter(replies))
    replies.close()  # type: ignore[attr-defined]
    assert {reply.key for reply in judge.generate([Call("new", asks[0], judge.body(asks[0]))])} == {"new"}


def test_a_missing_folder_is_never_taken_for_a_hub_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        open(str(tmp_path / "none"), Options())
