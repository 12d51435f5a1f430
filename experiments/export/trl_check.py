"""Does TRL take a preference set as it is? A few DPO steps on a tiny model with random weights, on the CPU.

    python experiments/export/trl_check.py FOLDER [--steps 3]

FOLDER is what `recuse export --kind preferences` wrote. The tokenizer is trained on the set's own texts and the model
is made from a configuration, so nothing is fetched. Prints one JSON object: for each form what TRL's own check calls
it, how many rows its preparation kept, whether the prepared tokens say what the rows say, and the losses. Exits with 1
where any of that is wrong.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")

FORMS = ("conversational", "standard")
TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<|end|>", "<|pad|>", "<|system|>", "<|user|>", "<|assistant|>"]


def tokenizer_of(texts: list[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    plain.train_from_iterator(
        texts,
        trainers.BpeTrainer(vocab_size=600, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False),
    )
    found = PreTrainedTokenizerFast(tokenizer_object=plain, eos_token=SPECIAL[0], pad_token=SPECIAL[1])
    found.chat_template = TEMPLATE
    return found


def tiny_model(tokenizer: Any) -> Any:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=4096,
            eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, bos_token_id=None,
        )
    )  # fmt: skip


def said(tokenizer: Any, ids: list[int]) -> str:
    return str(tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))


def check(folder: Path, form: str, *, steps: int, work: str) -> dict[str, Any]:
    """Prepare and train on one form; `same_text` counts rows whose tokens decode to the row's own texts."""
    from datasets import load_dataset
    from trl import DPOConfig, DPOTrainer
    from trl.data_utils import is_conversational

    data = load_dataset(str(folder), form, cache_dir=work)
    train = data["train"]

    def content(value: Any) -> str:
        return value if isinstance(value, str) else "".join(message["content"] for message in value)

    texts = [content(row[name]) for row in train for name in ("prompt", "chosen", "rejected")]
    tokenizer = tokenizer_of(texts)
    trainer = DPOTrainer(
        model=tiny_model(tokenizer), ref_model=tiny_model(tokenizer), processing_class=tokenizer, train_dataset=train,
        eval_dataset=data.get("test"),
        args=DPOConfig(
            output_dir=f"{work}/{form}", max_steps=steps, per_device_train_batch_size=2, max_length=None,
            logging_steps=1, save_strategy="no", report_to=[], use_cpu=True, bf16=False, disable_tqdm=True,
            seed=0,
        ),
    )  # fmt: skip
    prepared = trainer.train_dataset
    same = sum(
        all(said(tokenizer, ready[f"{name}_ids"]) == content(row[name]) for name in ("prompt", "chosen", "rejected"))
        for row, ready in zip(train, prepared, strict=False)  # in the order of the rows
    )
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return {
        "conversational": is_conversational(train[0]), "rows": len(train), "prepared": len(prepared),
        "same_text": same, "test": len(data["test"]) if "test" in data else 0,
        "test_prepared": len(trainer.eval_dataset) if trainer.eval_dataset is not None else 0,
        "steps": trainer.state.global_step, "losses": losses,
    }  # fmt: skip


def right(form: str, found: dict[str, Any], steps: int) -> bool:
    return bool(
        found["conversational"] == (form == "conversational")
        and found["rows"] == found["prepared"] == found["same_text"]
        and found["test"] == found["test_prepared"]
        and found["steps"] == steps == len(found["losses"])
        and abs(found["losses"][0] - math.log(2)) < 1e-3  # the model and its reference are still the same
        and all(math.isfinite(loss) for loss in found["losses"])
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=3)
    given = parser.parse_args()
    import trl

    with tempfile.TemporaryDirectory() as work:
        found = {form: check(given.folder, form, steps=given.steps, work=work) for form in FORMS}
    ok = all(right(form, of_form, given.steps) for form, of_form in found.items())
    print(json.dumps({"trl": trl.__version__, "ok": ok, **found}))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
