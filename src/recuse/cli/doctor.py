"""`recuse doctor`: what is here, what a model needs, whether it answers."""

from __future__ import annotations

from typing import Annotated

import typer

from recuse.cli import options

_WHAT, _PLAN, _OUT = "The models", "What they need", "Output"


def doctor(
    judge: options.Judge = None,
    base_url: options.BaseUrl = None,
    teacher: Annotated[
        str | None, options.option("--teacher", group=_WHAT, help="provider/model that rewrites and names biases.")
    ] = None,
    teacher_base_url: Annotated[
        str | None, options.option("--teacher-base-url", group=_WHAT, help="As --base-url, for the teacher.")
    ] = None,
    smoke: Annotated[
        bool,
        options.option(
            "--smoke",
            group=_WHAT,
            help="Make a real call: to the smallest packaged model, and to --judge and --teacher (a provider's costs).",
        ),
    ] = False,
    calls: Annotated[
        int | None, options.option("--calls", group=_PLAN, min=0, help="Calls to be made: which engine is done first.")
    ] = None,
    max_context: options.MaxContext = None,
    concurrency: options.Concurrency = None,
    tensor_parallel: options.TensorParallel = None,
    memory_share: options.MemoryShare = None,
    device: options.Device = None,
    gpu_memory: Annotated[
        float | None,
        options.option("--gpu-memory", group=_PLAN, min=0.1, help="GB of one GPU, to plan for another machine."),
    ] = None,
    as_json: Annotated[bool, options.option("--json", group=_OUT, help="Print one JSON object.")] = False,
) -> int:
    """Engines, GPUs, memory, keys (never their values), caches; what a model needs; from how many calls an engine pays.

    Exit codes: 0 whenever it could report; 2 usage.
    """
    import json
    from dataclasses import replace

    from recuse.backends import Options
    from recuse.cli.common import shown
    from recuse.doctor.report import examine, told

    reached = Options(
        base_url=base_url, concurrency=concurrency, max_context=max_context, tensor_parallel=tensor_parallel,
        memory_share=memory_share, device=device,
    )  # fmt: skip
    models = [(judge, reached)] if judge else []
    if teacher:
        models.append((teacher, replace(reached, base_url=teacher_base_url)))
    plan_for = None if gpu_memory is None else round(gpu_memory * 1e9)
    report = examine(models, smoking=smoke, calls=calls, plan_for=plan_for)
    shown(lambda: typer.echo(json.dumps(report, indent=2, allow_nan=False) if as_json else told(report)), None)
    return 0
