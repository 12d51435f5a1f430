"""What a model needs beside what is there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from recuse.backends import HEAVY, PROVIDERS, Options, settled
from recuse.errors import RecuseError
from recuse.machine import fit
from recuse.machine.memory import Gpu, Ram
from recuse.machine.size import size_of

CONTEXT, CALLS = 4096, 16  # tokens of a call and calls in flight, where nobody says otherwise
_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


def examine_model(
    name: str, options: Options, *, gpus: Sequence[Gpu], ram: Ram | None, plan_for: int | None = None
) -> dict[str, Any]:
    """What `name` needs, whether it fits here ("yes", "no", "unknown", "elsewhere" for a model behind a network), and
    how many GPUs it takes: `gpus_needed` for one of it, `gpus_in_all` for the fewest and the most replicas.

    `plan_for`: bytes of a GPU of another machine. Never raises for a wrong name: it says so.
    """
    found: dict[str, Any] = {
        "name": name, "fits": "unknown", "said": "", "guess": False, "source": None, "parameters": None,
        "weights": None, "kv_token": None, "kv": None, "context": None, "calls": None, "gpu_memory": None,
        "gpus_needed": None, "gpus_in_all": None,
    }  # fmt: skip
    try:
        inner, options = settled(name, options)
        provider, slash, model = inner.partition("/")
        if not slash or not model or provider not in PROVIDERS:
            known = ", ".join(f"{p}/…" for p in PROVIDERS)
            return found | {"said": f"This is no provider/model. Write one of: {known}."}
        if provider not in HEAVY:
            return found | {"fits": "elsewhere", "said": _elsewhere(provider)}
        size = size_of(fit.located(inner))
    except (RecuseError, OSError, ValueError) as error:
        return found | {"said": str(error)}
    on_gpu = provider != "llamacpp" and bool(gpus or plan_for) and (options.device or "cuda").startswith("cuda")
    context = min(options.max_context or CONTEXT, size.context or options.max_context or CONTEXT)
    need = fit.need_of(size, provider=provider, gpu=on_gpu, context=context, calls=options.concurrency or CALLS)
    # Of the machines of a cluster nothing is known here.
    cluster = options.replicas is not None and os.environ.get("RAY_ADDRESS", "").strip() not in ("", "local")
    memory = plan_for or min((gpu.total for gpu in gpus), default=None)
    found |= {
        "source": size.source, "guess": size.guess, "parameters": size.parameters, "weights": need.weights,
        "kv_token": need.kv_token, "kv": need.kv, "context": need.context, "calls": need.calls,
    }  # fmt: skip
    if on_gpu and memory:
        share = (options.memory_share or fit.SHARE) if provider == "vllm" else 1.0
        needed = fit.gpus_needed(need, memory=memory, share=share)
        found |= {"gpu_memory": memory, "gpus_needed": needed}
        there = None if plan_for or cluster else len(gpus)
        if options.replicas is None or needed is None or (provider != "vllm" and needed > 1):
            return found | _on_gpus(provider, needed, options, there)
        each = max(needed, options.tensor_parallel or 1)
        found["gpus_in_all"] = [each * n for n in options.replicas]
        return found | _replicas_on_gpus(needed, each, options, there)
    if cluster:
        return found | {"said": "The memory of the cluster's machines is not known here: give --gpu-memory."}
    if ram is None:
        return found | {"said": "The memory of this machine is not known."}
    one, (fewest, most) = need.weights + (need.kv or 0), options.replicas or (1, 1)
    total = fit.gb(one * fewest) + (f" to {fit.gb(one * most)}" if most > fewest else "")
    takes = f"{fit.gb(one)} a replica, {total} in all" if options.replicas else f"{total} in all"
    said = f"{takes}, {fit.gb(ram.available)} of memory are free."
    return found | {"fits": "yes" if one * fewest <= ram.available else "no", "said": said}


def _on_gpus(provider: str, needed: int | None, options: Options, there: int | None) -> dict[str, str]:
    """`there`: GPUs of this machine; None where the plan is for another."""
    if needed is None:
        return {"fits": "no", "said": "More than 64 such GPUs would be needed."}
    split = f"--tensor-parallel {needed}" if needed > 1 else "one GPU is enough"
    if provider != "vllm" and needed > 1:
        return {"fits": "no", "said": f"It needs {needed} GPUs, and only vllm/… splits a model over several."}
    if there is None:
        return {"fits": "unknown", "said": f"On such GPUs: {split}."}
    if needed > there:
        return {"fits": "no", "said": f"It needs {needed} such GPUs, and {there} are here."}
    given = options.tensor_parallel or 1
    if provider == "vllm" and given < needed:
        return {"fits": "no", "said": f"Give {split}."}
    return {"fits": "yes", "said": f"{split[0].upper()}{split[1:]}."}


def _replicas_on_gpus(needed: int, each: int, options: Options, there: int | None) -> dict[str, str]:
    """`needed` GPUs hold one replica, and `each` takes as many; `there` as in `_on_gpus`."""
    assert options.replicas is not None
    fewest, most = options.replicas
    in_all = f"{each * fewest}" + (f" to {each * most}" if most > fewest else "")
    takes = f"{each} GPU{'s' if each > 1 else ''} a replica, {in_all} in all"
    split = f"--tensor-parallel {needed}" if needed > (options.tensor_parallel or 1) else ""
    if there is None:
        return {"fits": "unknown", "said": f"On such GPUs: {split}{', ' if split else ''}{takes}."}
    if each * fewest > there:
        return {"fits": "no", "said": f"It needs {takes}, and {there} such are here."}
    if split:
        return {"fits": "no", "said": f"Give {split}: {takes}."}
    some = f" {there // each} of {most} replicas find room on the {there} that are here." if each * most > there else ""
    return {"fits": "yes", "said": f"It takes {takes}.{some}"}


def _elsewhere(provider: str) -> str:
    if key := _KEYS.get(provider):
        is_set = "is set" if os.environ.get(key, "").strip() else "is not set, which a provider will refuse"
        return f"It runs behind a network; {key} {is_set}."
    return "It holds no weights here."
