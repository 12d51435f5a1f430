"""What a model needs is read from its own files: as published, as the libraries count it, and by hand."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from recuse.errors import InputError
from recuse.machine.gguf import read_header
from recuse.machine.size import counted, guessed, kv_bytes, size_of

LLAMA = {"model_type": "llama", "vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336,
         "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8}  # fmt: skip
QWEN_7B = {"model_type": "qwen2", "vocab_size": 152064, "hidden_size": 3584, "intermediate_size": 18944,
           "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4}  # fmt: skip
QWEN_72B = {**QWEN_7B, "hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80,
            "num_attention_heads": 64, "num_key_value_heads": 8}  # fmt: skip
MIXTRAL = {**LLAMA, "model_type": "mixtral", "vocab_size": 32000, "num_local_experts": 8}


def tensors(path: Path, **shapes: tuple[str, list[int], int]) -> Path:
    """A safetensors file that ends after its header: name, (type, shape, bytes of a value)."""
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (kind, shape, width) in shapes.items():
        count = 1
        for side in shape:
            count *= side
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + count * width]}  # type: ignore[dict-item]
        at += count * width
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text)
    return path


def folder_of(path: Path, config: dict[str, Any]) -> Path:
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(config))
    return path


@pytest.mark.parametrize(
    ("config", "published"),
    [(LLAMA, 8_030_261_248), (QWEN_7B, 7_615_616_512), (QWEN_72B, 72_706_203_648), (MIXTRAL, 46_702_792_704)],
    ids=["Llama 3.1 8B", "Qwen2.5 7B", "Qwen2.5 72B", "Mixtral 8x7B"],
)
def test_parameters_from_a_config_are_those_that_the_publishers_state(config: dict[str, Any], published: int) -> None:
    assert counted(config) == published


@pytest.mark.parametrize("kind", ["LlamaConfig", "Qwen2Config", "Qwen3Config", "MistralConfig", "MixtralConfig"])
@pytest.mark.parametrize("tied", [True, False])
def test_parameters_from_a_config_are_those_that_transformers_makes(kind: str, tied: bool) -> None:
    transformers = pytest.importorskip("transformers", reason="needs transformers: pip install 'recuse[hf]'")
    pytest.importorskip("torch")
    config = getattr(transformers, kind)(
        vocab_size=97, hidden_size=48, intermediate_size=80, num_hidden_layers=3, num_attention_heads=6,
        num_key_value_heads=2, head_dim=8, tie_word_embeddings=tied,
    )  # fmt: skip
    model = transformers.AutoModelForCausalLM.from_config(config)
    assert counted(config.to_dict()) == model.num_parameters()


def test_keys_and_values_of_a_token_are_as_published_for_opt_13b(tmp_path: Path) -> None:
    opt = {"vocab_size": 50272, "hidden_size": 5120, "intermediate_size": 20480, "num_hidden_layers": 40,
           "num_attention_heads": 40}  # fmt: skip
    size = size_of(folder_of(tmp_path / "opt", opt))
    assert kv_bytes(size, tokens=1) == 800 * 1024
    assert kv_bytes(size, tokens=2048) == 2048 * 819_200  # "1.6 GB for one request" of 2,048 tokens


def test_keys_and_values_of_grouped_and_of_compressed_heads(tmp_path: Path) -> None:
    assert kv_bytes(size_of(folder_of(tmp_path / "llama", LLAMA)), tokens=1) == 2 * 32 * 8 * 128 * 2
    latent = {**LLAMA, "kv_lora_rank": 512, "qk_rope_head_dim": 64}
    assert kv_bytes(size_of(folder_of(tmp_path / "latent", latent)), tokens=1) == 32 * (512 + 64) * 2


def test_bytes_come_from_the_headers_and_packed_values_keep_theirs(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "m", QWEN_7B)
    tensors(folder / "model.safetensors", a=("BF16", [10, 20], 2), b=("F8_E4M3", [30, 10], 1), c=("I32", [5, 5], 4))
    size = size_of(folder)
    assert (size.parameters, size.stored, size.guess) == (525, 400 + 300 + 100, False)
    assert size.weights(4) == 200 * 4 + 300 + 100
    assert size.weights(2) == size.weights(None) == 800


def test_weights_that_lie_in_two_forms_are_counted_once(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "m", LLAMA)
    for part in (1, 2):
        tensors(folder / f"model-{part}.safetensors", a=("F32", [100], 4))
    tensors(folder / "consolidated.safetensors", a=("F32", [200], 4))
    index = {"weight_map": {"x": "model-1.safetensors", "y": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert size_of(folder).parameters == 200


def test_the_library_of_safetensors_writes_what_is_read(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    import numpy as np

    folder = folder_of(tmp_path / "m", LLAMA)
    arrays = {"a": np.zeros((3, 5), np.float32), "b": np.zeros((7,), np.float16), "c": np.zeros((2, 2), np.uint8)}
    numpy.save_file(arrays, folder / "model.safetensors")
    size = size_of(folder)
    assert (size.parameters, size.stored) == (26, sum(a.nbytes for a in arrays.values()))


def test_pickled_weights_count_by_their_files_and_the_configured_type(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "m", {**LLAMA, "torch_dtype": "float32"})
    (folder / "pytorch_model.bin").write_bytes(b"x" * 4000)
    assert (size_of(folder).parameters, size_of(folder).weights(2)) == (1000, 2000)


def gguf_of(path: Path, *, layers: int = 3, split: int = 0) -> Path:
    """A small model as the library of GGUF writes it."""
    gguf = pytest.importorskip("gguf", reason="needs gguf")
    import numpy as np

    writer = gguf.GGUFWriter(path, "llama", split_max_tensors=split)
    writer.add_block_count(layers)
    writer.add_embedding_length(64)
    writer.add_head_count(8)
    writer.add_head_count_kv(2)
    writer.add_context_length(4096)
    writer.add_token_list([f"token{i}" for i in range(500)])
    writer.add_token_scores([0.5] * 500)
    for i in range(layers):
        writer.add_tensor(f"blk.{i}.w", np.ones((64, 33), np.float16))
        writer.add_tensor(f"blk.{i}.n", np.ones(7, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_gguf_header_says_what_the_library_of_gguf_reads(tmp_path: Path) -> None:
    path = gguf_of(tmp_path / "m.gguf")
    import gguf

    reader, size = gguf.GGUFReader(path), size_of(path)
    assert size.parameters == sum(int(t.n_elements) for t in reader.tensors) == 3 * (64 * 33 + 7)
    assert read_header(path).weight_bytes == path.stat().st_size - reader.data_offset
    assert (size.context, size.heads, size.kv_heads) == (4096, 8, 2)
    assert kv_bytes(size, tokens=1) == 2 * 3 * 2 * 8 * 2


def test_a_model_in_several_gguf_files_is_their_sum(tmp_path: Path) -> None:
    whole = size_of(gguf_of(tmp_path / "m.gguf"))
    gguf_of(tmp_path / "s.gguf", split=2)
    first = min(tmp_path.glob("s-00001-of-*.gguf"))
    assert size_of(first).parameters == whole.parameters


def test_a_file_that_ends_in_its_header_is_called_damaged(tmp_path: Path) -> None:
    path = gguf_of(tmp_path / "m.gguf")
    content = path.read_bytes()
    for length in (6, 30, 200, 5000):
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match="damaged"):
            size_of(path)
    folder = folder_of(tmp_path / "m", LLAMA)
    for bad in (b"", b"\xff" * 8, struct.pack("<Q", 40) + b"{}", struct.pack("<Q", 7) + b'{"a":1}'):
        (folder / "model.safetensors").write_bytes(bad)
        with pytest.raises(InputError, match="damaged"):
            size_of(folder)


@pytest.mark.parametrize(
    ("name", "parameters", "stored"),
    [
        ("Qwen/Qwen2.5-72B-Instruct", 72e9, 144e9),
        ("RedHatAI/Qwen2.5-72B-Instruct-FP8-dynamic", 72e9, 72e9),
        ("mistralai/Mixtral-8x7B-v0.1", 56e9, 112e9),
        ("Qwen/Qwen3-30B-A3B", 30e9, 60e9),
        ("unsloth/Llama-3.2-1B-Instruct-bnb-4bit", 1e9, 0.5e9),
        ("Qwen/Qwen2.5-1.5B-Instruct-AWQ", 1.5e9, 0.75e9),
        ("HuggingFaceTB/SmolLM2-135M", 135e6, 270e6),
    ],
)
def test_a_name_tells_a_guess(name: str, parameters: float, stored: float) -> None:
    size = guessed(name)
    assert (size.parameters, size.stored, size.guess, size.kv_values) == (parameters, stored, True, None)


@pytest.mark.parametrize("name", ["openai-community/gpt2", "nobody/no-such-folder", "a/model-v2b"])
def test_a_name_without_a_size_is_said_to_have_none(name: str) -> None:
    with pytest.raises(InputError, match="no size in its name"):
        size_of(name)


def test_a_downloaded_hub_model_is_read_and_not_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    home = tmp_path / "models--org--Tiny-7B"
    folder = home / "snapshots" / "abc"
    folder.mkdir(parents=True)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text("abc")
    folder_of(folder, LLAMA)
    tensors(folder / "model.safetensors", a=("BF16", [1000], 2))
    assert (size_of("org/Tiny-7B").parameters, size_of("org/Tiny-7B").guess) == (1000, False)
    assert size_of("org/Other-7B").guess
