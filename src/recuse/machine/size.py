"""What a model needs: bytes of its weights and of the keys and values that it keeps for each token.

Read from the headers of its own files; no list of models is kept here. Only where there are no files is a number taken
from the model's name, and then it is called a guess.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recuse.errors import InputError
from recuse.machine.gguf import read_header

_FLOATS = frozenset({"F64", "F32", "F16", "BF16"})  # safetensors' types that an engine may load in another precision
_CONFIGURED = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2}
_NAMED = re.compile(r"(?<![A-Za-z0-9.])(?:(\d+)x)?(\d+(?:\.\d+)?)([bm])(?![a-z])", re.IGNORECASE)
_NAMED_BYTES = ((r"(?<!\d)4-?bit|int4|w4a16|awq|gptq|nvfp4|mxfp4", 0.5), (r"fp8|int8|8-?bit|w8a8|w8a16", 1.0))
_HEADER_LIMIT = 1 << 28  # bytes of a safetensors header; a longer one is damage


@dataclass(frozen=True)
class Size:
    """`parameters` counts quantised values that are packed in a file as what they are stored as. `floats`: those of
    them that an engine may load at another precision. `stored`: bytes of all weights as they lie there.

    `kv_values`: numbers kept for each token, keys and values of all layers; None where it is not known. `heads`: those
    over which the GPUs of tensor parallelism are spread. `guess`: read from the name alone.
    """

    parameters: int
    floats: int
    stored: int
    source: str
    kv_values: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    context: int | None = None
    guess: bool = False
    float_stored: int = 0  # bytes of `floats` as they lie there

    def weights(self, float_bytes: int | None = None) -> int:
        """Bytes of the weights where unquantised ones are loaded with `float_bytes` a value; None: as stored."""
        if float_bytes is None:
            return self.stored
        return self.stored - self.float_stored + self.floats * float_bytes


def size_of(model: str | Path) -> Size:
    """What a model needs: a folder in the form of transformers, a GGUF file (all its parts), or a name on the hub.

    A hub model that was downloaded before is read from the hub's cache. Raises InputError where nothing can be known.
    """
    path = Path(model).expanduser()
    if path.is_file():
        return _of_gguf(path)
    if path.is_dir():
        return _of_folder(path)
    if (folder := _downloaded(str(model))) is not None:
        return _of_folder(folder)
    return guessed(str(model))


def kv_bytes(size: Size, *, tokens: int, value_bytes: float = 2) -> int | None:
    """Bytes of the keys and values of `tokens` tokens, all calls in flight together.

    2 x layers x key-value heads x values a head, times the bytes of a value: Kwon et al. 2023 (vLLM), section 3, which
    gives 800 KiB a token for OPT-13B; with grouped heads as in Ainslie et al. 2023. Windows of attention are not
    counted, so that it is an upper guess for models that have them. None where the shape is not known.
    """
    return None if size.kv_values is None else math.ceil(size.kv_values * tokens * value_bytes)


def guessed(name: str) -> Size:
    """Parameters as the name tells them: 72B, 8x7B, 135M; the bytes of a value by FP8, AWQ and the like, else 2.

    The largest number counts, so that of "30B-A3B" it is the 30 that must be held. Raises InputError without one.
    """
    last = name.rpartition("/")[2]
    found = [
        int(times or 1) * float(number) * (1e9 if unit in "bB" else 1e6) for times, number, unit in _NAMED.findall(last)
    ]
    if not found:
        raise InputError(
            "how large it is cannot be told: no such folder or file, none in the hub's cache, and no size in its name",
            path=name, hint="Download it, or give its folder.",
        )  # fmt: skip
    parameters = int(max(found))
    each = next((size for pattern, size in _NAMED_BYTES if re.search(pattern, last, re.IGNORECASE)), 2.0)
    floats = parameters if each == 2.0 else 0
    stored = math.ceil(parameters * each)
    return Size(parameters, floats, stored, "its name", guess=True, float_stored=stored if floats else 0)


def counted(config: Mapping[str, Any]) -> int:
    """Parameters of a decoder of the usual shape (Llama, Qwen, Mistral, Mixtral) from its config.json.

    Embeddings, once more for the output unless tied; in each layer queries, keys, values and output, three matrices of
    the feed-forward part for every expert with their router, biases of queries, keys and values where the family has
    them, and two norms. Other shapes are off by what they add. Raises KeyError for a config that is none of these.
    """
    hidden, layers, vocab = (int(config[n]) for n in ("hidden_size", "num_hidden_layers", "vocab_size"))
    heads = int(config["num_attention_heads"])
    kv = int(config.get("num_key_value_heads") or heads)
    head = int(config.get("head_dim") or hidden // heads)
    experts = int(config.get("num_local_experts") or config.get("num_experts") or 0)
    wide = int((experts and config.get("moe_intermediate_size")) or config["intermediate_size"])
    kind = str(config.get("model_type", ""))
    attention = 2 * hidden * head * (heads + kv)
    if config.get("attention_bias", kind.startswith("qwen2")):
        attention += head * (heads + 2 * kv) + (hidden if config.get("attention_bias") else 0)
    if kind.startswith("qwen3"):
        attention += 2 * head  # norms of queries and keys
    feed = 3 * hidden * wide * max(experts, 1) + hidden * experts
    embedding = vocab * hidden * (1 if config.get("tie_word_embeddings", False) else 2)
    return embedding + layers * (attention + feed + 2 * hidden) + hidden


def _of_folder(folder: Path) -> Size:
    config = _config(folder)
    if files := _safetensors(folder):
        parameters = floats = stored = float_stored = 0
        for file in files:
            for kind, count, length in _tensors(file):
                parameters, stored = parameters + count, stored + length
                if kind in _FLOATS:
                    floats, float_stored = floats + count, float_stored + length
        size = Size(parameters, floats, stored, "the headers of its weights", float_stored=float_stored)
    elif pickled := sorted(folder.glob("pytorch_model*.bin")):
        stored = sum(file.stat().st_size for file in pickled)
        parameters = stored // _configured(config)
        size = Size(parameters, parameters, stored, "the size of its files", float_stored=stored)
    else:
        try:
            parameters = counted(config)
        except (KeyError, TypeError, ValueError):
            raise InputError("neither weights nor a config.json that tells their number", path=folder) from None
        stored = parameters * _configured(config)
        size = Size(parameters, parameters, stored, "its config.json", float_stored=stored)
    return replace(size, **_shape(config))


def _of_gguf(path: Path) -> Size:
    headers = [read_header(part) for part in _parts(path)]
    values = headers[0].values
    kind = values.get("general.architecture", "")

    def told(name: str) -> Any:
        return values.get(f"{kind}.{name}")

    heads, layers = told("attention.head_count"), told("block_count")
    kv, width = told("attention.head_count_kv") or heads, told("embedding_length")
    shape: dict[str, Any] = {"context": told("context_length")}
    if layers and width and heads and kv:
        first = max(heads) if isinstance(heads, list) else heads
        each = kv if isinstance(kv, list) else [kv] * layers
        key = told("attention.key_length") or width // first
        shape |= {"heads": first, "kv_heads": max(each)}
        shape["kv_values"] = sum(each) * (key + (told("attention.value_length") or key))
    stored = sum(header.weight_bytes for header in headers)
    return Size(sum(header.parameters for header in headers), 0, stored, "its GGUF header", **shape)


def _parts(path: Path) -> list[Path]:
    """The files of a model that was cut into several, `NAME-00001-of-00003.gguf`."""
    cut = re.fullmatch(r"(.*-)\d{5}(-of-(\d{5})\.gguf)", path.name)
    if not cut:
        return [path]
    parts = [path.with_name(f"{cut[1]}{i:05d}{cut[2]}") for i in range(1, int(cut[3]) + 1)]
    return [part for part in parts if part.is_file()]


def _safetensors(folder: Path) -> list[Path]:
    """The files that hold the weights, each tensor once: a folder may hold them in another form as well."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        names = set(json.loads(index.read_text("utf-8"))["weight_map"].values())
        return [folder / name for name in sorted(names) if (folder / name).is_file()]
    whole = folder / "model.safetensors"
    return [whole] if whole.is_file() else sorted(folder.glob("*.safetensors"))


def _tensors(path: Path) -> list[tuple[str, int, int]]:
    """Type, number of values and bytes of each tensor: eight bytes of length, then a header in JSON."""
    with path.open("rb") as file:
        try:
            (length,) = struct.unpack("<Q", file.read(8))
            text = file.read(min(length, _HEADER_LIMIT))
            if len(text) < length:
                raise ValueError("it ends within its header")
            header = json.loads(text)
            return [
                (t["dtype"], math.prod(t["shape"]), t["data_offsets"][1] - t["data_offsets"][0])
                for name, t in header.items()
                if name != "__metadata__"
            ]
        except (struct.error, ValueError, KeyError, TypeError, AttributeError):
            raise InputError("its safetensors header is damaged", path=path, hint="Download it again.") from None


def _config(folder: Path) -> dict[str, Any]:
    """The part of config.json that is about the model of text. Raises InputError for one that is no JSON object."""
    path = folder / "config.json"
    try:
        found = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InputError("not a JSON object", path=path)
    text = found.get("text_config")
    return {**found, **text} if isinstance(text, dict) else found


def _configured(config: Mapping[str, Any]) -> int:
    return _CONFIGURED.get(str(config.get("dtype") or config.get("torch_dtype")), 2)


def _shape(config: Mapping[str, Any]) -> dict[str, Any]:
    try:
        layers, heads = int(config["num_hidden_layers"]), int(config["num_attention_heads"])
        kv = int(config.get("num_key_value_heads") or heads)
        head = int(config.get("head_dim") or int(config["hidden_size"]) // heads)
    except (KeyError, TypeError, ValueError):
        return {}
    values = 2 * layers * kv * head
    if latent := config.get("kv_lora_rank"):  # one compressed vector a layer and token: DeepSeek-V2, section 2.1
        values = layers * (int(latent) + int(config.get("qk_rope_head_dim") or 0))
    return {"kv_values": values, "heads": heads, "kv_heads": kv, "context": config.get("max_position_embeddings")}


def hub_cache() -> Path:
    """Where the hub's libraries keep what they have downloaded."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface").expanduser()
    return Path(os.environ.get("HF_HUB_CACHE") or home / "hub").expanduser()


def _downloaded(name: str) -> Path | None:
    """Where the hub's cache holds this model."""
    folder = hub_cache() / ("models--" + name.replace("/", "--"))
    head = folder / "refs" / "main"
    if not head.is_file():
        return None
    snapshot = folder / "snapshots" / head.read_text("utf-8").strip()
    return snapshot if (snapshot / "config.json").is_file() else None
