"""Memory freed between the phases of a run is measured: what a closed model keeps is told, and a next one that has no
room for it is refused before it is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_lab_engines import Weights, asks
from test_machine_size import LLAMA, folder_of, tensors

from recuse.backends.base import Options
from recuse.errors import ProviderError
from recuse.lab.engines import Engines, Model
from recuse.machine.memory import Held, Ram

GB = 10**9


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[Any, Model]:
    """A judge and a teacher of a thousand million parameters, 4 GB each in float32."""
    Weights.alive, Weights.most = set(), 0
    monkeypatch.setattr("recuse.lab.engines.open_backend", lambda name, options: Weights(name, options))
    found = {}
    for role in ("judge", "teacher"):
        folder = folder_of(tmp_path / role, LLAMA)
        tensors(folder / "model.safetensors", a=("BF16", [1000, 1000, 1000], 2))
        found[role] = Model(f"hf/{folder}", Options(device="cpu"), None)
    return found


def holding(monkeypatch: pytest.MonkeyPatch, *sizes: int) -> None:
    """What the process holds, look by look."""
    looks = iter(sizes)
    monkeypatch.setattr("recuse.machine.memory.held", lambda: Held(next(looks), 0))


def play(models: dict[Any, Model], folder: Path) -> Engines:
    with Engines(models, folder) as engines:
        for role, text in (("teacher", "a"), ("judge", "b")):
            engines.ask(role, asks(text), phase="p")  # type: ignore[arg-type]
    return engines


def test_a_model_that_gives_its_memory_back_is_not_spoken_of(
    models: dict[Any, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holding(monkeypatch, 5 * GB, 1 * GB)
    assert play(models, tmp_path).notes == []


def test_a_model_that_keeps_its_memory_is_told_where_the_next_still_fits(
    models: dict[Any, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holding(monkeypatch, 5 * GB, 4 * GB)
    monkeypatch.setattr("recuse.machine.fit.ram", lambda: Ram(16 * GB, 5 * GB))
    (note,) = play(models, tmp_path).notes
    assert note == f"{models['teacher'].name} was closed and gave back 1.0 GB of the 4.0 GB that its weights take."


def test_the_next_model_is_refused_where_what_is_left_does_not_hold_it(
    models: dict[Any, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holding(monkeypatch, 5 * GB, 4 * GB)
    monkeypatch.setattr("recuse.machine.fit.ram", lambda: Ram(16 * GB, 2 * GB))
    with pytest.raises(ProviderError) as caught:
        play(models, tmp_path)
    assert "gave back 1.0 GB of the 4.0 GB" in str(caught.value)
    assert "weights alone take 4.0 GB, and there is room for 2.0 GB" in str(caught.value)
    assert Weights.alive == set()  # it was not opened
