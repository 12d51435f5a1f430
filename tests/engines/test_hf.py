"""transformers on real weights: probabilities and text against plain forward passes, whatever the batch."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from engine_asks import answer, label_asks, question

from recuse.backends import Options
from recuse.backends.hf import HF, Prepared, _Sampler, in_batches, open
from recuse.errors import InputError, ProviderError, UnknownModel
from recuse.prompts import load_prompt
from recuse.types import Call, Reply
from recuse.verdict import read

pytestmark = pytest.mark.engine
torch = pytest.importorskip("torch", reason="needs torch: pip install 'recuse[hf]'")
transformers = pytest.importorskip("transformers", reason="needs transformers: pip install 'recuse[hf]'")
SPEC = load_prompt("pairwise/label").spec


@pytest.fixture(scope="module")
def judge(smollm2_folder: Path) -> HF:
    return open(str(smollm2_folder), Options(device="cpu", concurrency=4, max_context=1024))


@pytest.fixture(scope="module")
def plain(smollm2_folder: Path) -> tuple[Any, Any]:
    """Model and tokenizer as anybody would load them."""
    model = transformers.AutoModelForCausalLM.from_pretrained(smollm2_folder, dtype=torch.float32)
    return model, transformers.AutoTokenizer.from_pretrained(smollm2_folder)


def _ids(tokenizer: Any, ask: Any) -> Any:
    messages = [{"role": m.role, "content": m.content} for m in ask.messages]
    return tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt")["input_ids"]


def test_batched_probabilities_equal_a_forward_pass_of_each_prompt_alone(judge: HF, plain: tuple[Any, Any]) -> None:
    model, tokenizer = plain
    asks = label_asks(4)
    lengths = set()
    for ask, reply in zip(asks, answer(judge, asks), strict=True):
        ids = _ids(tokenizer, ask)
        lengths.add(ids.shape[1])
        with torch.inference_mode():
            expected = torch.log_softmax(model(ids).logits[0, -1], dim=-1)
        assert reply.logprobs is not None
        assert reply.tokens_in == ids.shape[1]
        found = dict(reply.logprobs)
        for label in ("A", "B", " A", " B"):
            (token,) = tokenizer.encode(label, add_special_tokens=False)
            assert found[label] == pytest.approx(expected[token].item(), abs=1e-3)
        assert reply.logprobs[0][0] == reply.text == tokenizer.decode(expected.argmax())
        assert sum(math.exp(p) for p in found.values()) <= 1 + 1e-6
    assert len(lengths) > 1, "without padding this test shows nothing"


def test_text_equals_the_librarys_own_greedy_decoding(judge: HF, plain: tuple[Any, Any]) -> None:
    model, tokenizer = plain
    asks = [question("Name a colour.", max_tokens=10), question("What is two plus two? Be brief.", max_tokens=10)]
    for ask, reply in zip(asks, answer(judge, asks), strict=True):
        ids = _ids(tokenizer, ask)
        written = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=10, do_sample=False)
        expected = written[0, ids.shape[1] :]
        assert reply.text == tokenizer.decode(expected, skip_special_tokens=True)
        ended = expected[-1].item() == tokenizer.eos_token_id
        assert (reply.finish, reply.tokens_out) == ("stop" if ended else "length", len(expected))


def test_a_batch_of_one_gives_the_same_verdicts(judge: HF, monkeypatch: pytest.MonkeyPatch) -> None:
    asks = label_asks(3)
    together = answer(judge, asks)
    monkeypatch.setattr(judge, "_batch", 1)
    for many, alone in zip(together, answer(judge, asks), strict=True):
        assert read(many, SPEC).p_first == pytest.approx(read(alone, SPEC).p_first, abs=1e-4)
        assert read(many, SPEC).outcome == read(alone, SPEC).outcome


def test_a_seeded_draw_does_not_depend_on_the_batch_around_it(judge: HF) -> None:
    asks = [question("Tell me a story.", temperature=1.0, seed=5, repeat=r, max_tokens=8) for r in range(3)]
    together = [reply.text for reply in answer(judge, asks)]
    assert answer(judge, asks[1:2])[0].text == together[1]
    assert len(set(together)) == 3


def test_draws_follow_the_distribution_at_the_temperature() -> None:
    """The largest of logits/T plus Gumbel noise is a draw from softmax(logits/T): chi-squared, 4 degrees of freedom."""
    logits, temperature, draws = torch.tensor([2.0, 1.0, 0.0, -1.0, 0.5]), 0.7, 4000
    ask = question("x", temperature=temperature, seed=0)
    calls = [Call("", ask, {"temperature": temperature, "seed": i}) for i in range(draws)]
    taken = _Sampler(calls)(None, logits.repeat(draws, 1)).argmax(dim=-1)
    counts = torch.bincount(taken, minlength=5)
    expected = torch.softmax(logits / temperature, dim=-1) * draws
    assert ((counts - expected) ** 2 / expected).sum() < 18.5  # exceeded once in a thousand


def test_a_batch_that_does_not_fit_is_halved_and_nothing_is_lost() -> None:
    sizes = []

    def run(batch: list[Prepared]) -> list[Reply]:
        sizes.append(len(batch))
        if len(batch) > 2:
            raise torch.cuda.OutOfMemoryError
        return [Reply(p.call.key, "A") for p in batch]

    def prepare(call: Call) -> Prepared:
        return Prepared(call, [0] * int(call.key), ())

    calls = [Call(str(i), question("x"), {}) for i in range(9)]
    replies = list(in_batches(calls, prepare=prepare, run=run, size=8))
    assert [reply.key for reply in replies] == [str(i) for i in range(8, -1, -1)]  # longest first
    assert sizes == [8, 4, 2, 2, 2, 2, 1]


def test_one_prompt_that_does_not_fit_is_said_in_one_sentence() -> None:
    def run(batch: list[Prepared]) -> list[Reply]:
        raise torch.cuda.OutOfMemoryError

    calls = [Call("0", question("x"), {})]
    with pytest.raises(ProviderError, match="does not fit"):
        list(in_batches(calls, prepare=lambda c: Prepared(c, [1], ()), run=run, size=2))


def test_an_ask_that_is_too_long_fails_alone(judge: HF) -> None:
    long, short = answer(judge, [question("word " * 1500, max_tokens=1), question("Say hello.", max_tokens=1)])
    assert (long.finish, long.text) == ("error", "")
    assert str(long.error).startswith("context too long: ")
    assert short.finish == "length"


def test_pickled_weights_are_refused_unless_allowed(smollm2_folder: Path, tmp_path: Path) -> None:
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2
    )
    model = transformers.LlamaForCausalLM(config)
    config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    transformers.AutoTokenizer.from_pretrained(smollm2_folder).save_pretrained(tmp_path)
    with pytest.raises(ProviderError, match="safetensors"):
        open(str(tmp_path), Options(device="cpu"))
    open(str(tmp_path), Options(device="cpu", allow_pickle=True)).close()


def test_a_missing_folder_is_never_looked_for_on_the_hub_and_a_hub_name_says_both_ways(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        open(str(tmp_path / "none"), Options())
    with pytest.raises(UnknownModel, match="neither a folder here nor a model that the hub gave"):
        open("nobody/nothing", Options())


def test_versions_name_the_weights(judge: HF, smollm2_folder: Path) -> None:
    from recuse.weights import fingerprint

    assert judge.versions()["weights"] == fingerprint(smollm2_folder)
    assert judge.versions()["dtype"] == "float32"
