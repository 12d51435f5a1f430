"""A reward model as a judge, on a small one with random weights: scores against a plain forward pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_asks import answer, question

from recuse.asks import Design, make_asks
from recuse.backends import Options
from recuse.backends.hf_reward import HFReward, open
from recuse.errors import UsageError
from recuse.pairs import load_pairs
from recuse.types import Sampling

pytestmark = pytest.mark.engine
torch = pytest.importorskip("torch", reason="needs torch: pip install 'recuse[hf]'")
transformers = pytest.importorskip("transformers", reason="needs transformers: pip install 'recuse[hf]'")


def _model(folder: Path, tokens: Path, *, outputs: int) -> Path:
    tokenizer = transformers.AutoTokenizer.from_pretrained(tokens)
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_labels=outputs,
        pad_token_id=tokenizer.pad_token_id,
    )
    transformers.LlamaForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def judge(smollm2_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> HFReward:
    folder = _model(tmp_path_factory.mktemp("reward"), smollm2_folder, outputs=1)
    return open(str(folder), Options(device="cpu", concurrency=4))


def test_scores_equal_a_forward_pass_of_each_conversation_alone(judge: HFReward) -> None:
    folder = judge.name.removeprefix("hf-reward/")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    asks = list(make_asks(list(load_pairs("demo"))[:4], Design(None, Sampling())))
    assert {ask.view for ask in asks} == {"chosen", "rejected"}
    scores = []
    for ask, reply in zip(asks, answer(judge, asks), strict=True):
        messages = [{"role": m.role, "content": m.content} for m in ask.messages]
        ids = tokenizer.apply_chat_template(messages, return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            expected = model(ids).logits[0, 0].item()
        assert reply.score == pytest.approx(expected, abs=1e-5)
        assert float(reply.text) == reply.score
        assert reply.tokens_in == ids.shape[1]
        scores.append(reply.score)
    assert max(scores) - min(scores) > 1e-2, "equal scores would show nothing"


def test_it_explains_nothing_and_says_so(judge: HFReward) -> None:
    assert not judge.capabilities.explains
    assert not judge.capabilities.logprobs


def test_an_ask_without_an_answer_is_an_error_of_that_ask(judge: HFReward) -> None:
    (reply,) = answer(judge, [question("Which is better?")])
    assert (reply.finish, reply.score) == ("error", None)
    assert "does not end with one" in str(reply.error)


def test_a_classifier_of_several_classes_is_no_reward_model(smollm2_folder: Path, tmp_path: Path) -> None:
    folder = _model(tmp_path, smollm2_folder, outputs=3)
    with pytest.raises(UsageError, match="3 outputs"):
        open(str(folder), Options(device="cpu"))
