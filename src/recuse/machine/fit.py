"""Whether a model goes into the memory that is there: said before it is loaded, and measured after it was closed."""

from __future__ import annotations

from dataclasses import dataclass

from recuse.errors import ProviderError, RecuseError
from recuse.machine.memory import Held, gpus, ram
from recuse.machine.size import Size, kv_bytes, size_of
from recuse.weights import WEIGHTS, path_of

SHARE = 0.92  # of a GPU's memory that vLLM 0.32 takes when it is not told
OVERHEAD = 3 << 30  # bytes of a GPU beside weights, keys and values: CUDA, graphs, activations. Assumed, not measured
_MOST = 64  # GPUs looked at


@dataclass(frozen=True)
class Need:
    """What a model takes, in bytes: weights, and keys and values of a token and of `calls` at once with `context`
    tokens each (None where its shape is not known)."""

    size: Size
    weights: int
    kv_token: int | None
    calls: int
    context: int

    @property
    def kv(self) -> int | None:
        return None if self.kv_token is None else self.kv_token * self.calls * self.context


def need_of(size: Size, *, provider: str, gpu: bool, context: int, calls: int) -> Need:
    float_bytes, kv_value = _loaded(provider, gpu=gpu)
    return Need(size, size.weights(float_bytes), kv_bytes(size, tokens=1, value_bytes=kv_value), calls, context)


def gpus_needed(need: Need, *, memory: int, share: float = SHARE) -> int | None:
    """The smallest number of GPUs of `memory` bytes over which a model splits: vLLM's tensor_parallel.

    Each takes its part of the weights and of the key-value heads (one head at least), and `OVERHEAD`, within `share` of
    its memory. The number divides the heads, or is a power of two where they are not known. None: more than 64.
    """
    heads, kv_heads = need.size.heads, need.size.kv_heads or 1
    for n in range(1, _MOST + 1):
        if heads % n if heads else n & (n - 1):
            continue
        if need.weights / n + (need.kv or 0) / min(n, kv_heads) + OVERHEAD <= share * memory:
            return n
    return None


def check(name: str, source: str, *, gpu: bool, split: int = 1, left: str = "") -> None:
    """Refuse a model whose weights alone exceed all memory of the place they go to, before anything is loaded.

    `name`: provider/model; `source`: its folder, file or hub name; `gpu`: whether the engine loads it onto GPUs,
    `split` of them (llama.cpp may use GPUs and RAM together). `left`: what `kept` said of a model that was closed
    before; GPUs then count with what is free. What cannot be told passes: a hub model that is not here yet, a GPU that
    no program reports. Raises ProviderError.
    """
    weights = weights_of(name, source, gpu=gpu)
    if weights is None:
        return
    provider = name.partition("/")[0]
    found = gpus() if gpu or provider == "llamacpp" else []
    cards = sorted((card.free if left else card.total for card in found), reverse=True)
    if gpu:
        used = cards[: max(split, 1)]
        room, place = sum(used), "one GPU has" if len(used) == 1 else f"{len(used)} GPUs have"
    else:
        memory = ram()
        if memory is None:
            return
        room, place = sum(cards) + memory.available + memory.swap_free, "there is room for"
    if weights > room > 0:
        hint = "Choose a smaller or a quantised model, or reach it on a server with openai/… and --base-url."
        if provider == "vllm" and gpu and weights < sum(cards):
            hint = "Split it over more GPUs with --tensor-parallel, or choose a quantised model."
        raise ProviderError(
            f"{name} is too large: its weights alone take {gb(weights)}, and {place} {gb(room)}.", hint=hint
        )


def located(name: str) -> str:
    """The folder, file or hub name behind provider/model. Raises RecuseError where packaged weights are not here."""
    provider, _, model = name.partition("/")
    return str(path_of(model)) if provider == "llamacpp" and model in WEIGHTS else model


def weights_of(name: str, source: str, *, gpu: bool) -> int | None:
    """Bytes of the weights as the engine of `name` loads them; None where they are not known for sure."""
    try:
        size = size_of(source)
    except (RecuseError, OSError, ValueError, KeyError, TypeError):
        return None  # the engine says what is wrong with it
    return None if size.guess else size.weights(_loaded(name.partition("/")[0], gpu=gpu)[0])


def kept(name: str, *, gpu: bool, before: Held, after: Held) -> str:
    """One sentence where closing a model gave back less than nine tenths of its weights; empty where it did, or where
    their size is not known. `before` and `after`: what was held before the close and after it.

    Weights that nobody has read yet may lie on disk alone and give nothing back, so that what is left must be as large
    as they are.
    """
    try:
        weights = weights_of(name, located(name), gpu=gpu)
    except RecuseError:
        return ""
    back = before.ram - after.ram + before.gpu - after.gpu
    if weights is None or back >= 0.9 * weights or after.ram + after.gpu < weights:
        return ""
    return f"{name} was closed and gave back {gb(max(back, 0))} of the {gb(weights)} that its weights take."


def gb(size: float) -> str:
    """Bytes for people, in powers of ten, as memory of GPUs is sold."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"


def _loaded(provider: str, *, gpu: bool) -> tuple[int | None, float]:
    """Bytes of an unquantised weight and of a kept key, as the backends load them; None: as the file stores it."""
    if provider == "llamacpp":
        return None, 2
    return (2, 2) if gpu else (4, 4)
