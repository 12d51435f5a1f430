"""A model that cannot go into the memory is refused in one sentence before it is loaded, and one that can never is."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_machine_size import LLAMA, QWEN_72B, folder_of, gguf_of, tensors

from recuse.errors import ProviderError
from recuse.machine import fit, memory
from recuse.machine.memory import Gpu, Held, Ram
from recuse.machine.size import size_of

GB = 10**9
H100 = Gpu("H100", 80 * GB, 79 * GB)


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A thousand million parameters in bfloat16."""
    folder = folder_of(tmp_path / "m", LLAMA)
    tensors(folder / "model.safetensors", a=("BF16", [1000, 1000, 1000], 2))
    return str(folder)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[Gpu]:
    """A machine with room for 4 GB and the GPUs of this list."""
    cards: list[Gpu] = []
    monkeypatch.setattr(fit, "gpus", lambda: cards)
    monkeypatch.setattr(fit, "ram", lambda: Ram(16 * GB, 3 * GB, GB))
    return cards


def test_what_just_fits_is_loaded_and_one_byte_more_is_refused(
    model: str, machine: list[Gpu], monkeypatch: pytest.MonkeyPatch
) -> None:
    fit.check("hf/m", model, gpu=False)  # 4 bytes a value, 3 GB free and 1 GB of swap
    monkeypatch.setattr(fit, "ram", lambda: Ram(16 * GB, 3 * GB - 1, GB))
    with pytest.raises(ProviderError) as caught:
        fit.check("hf/m", model, gpu=False)
    assert str(caught.value) == (
        "hf/m is too large: its weights alone take 4.0 GB, and there is room for 4.0 GB. Choose a smaller or a "
        "quantised model, or reach it on a server with openai/… and --base-url."
    )


def test_gpus_count_as_many_as_share_the_weights(model: str, machine: list[Gpu]) -> None:
    machine += [Gpu("small", GB + 1, GB), Gpu("small", GB, GB)]
    with pytest.raises(ProviderError, match=r"take 2\.0 GB, and one GPU has 1\.0 GB\. Split it .*--tensor-parallel"):
        fit.check("vllm/m", model, gpu=True)
    fit.check("vllm/m", model, gpu=True, split=2)  # 2 bytes a value, however they lie in the file
    del machine[1]
    with pytest.raises(ProviderError, match="Choose a smaller"):
        fit.check("vllm/m", model, gpu=True, split=2)


def test_llama_cpp_may_use_gpus_and_ram_together(tmp_path: Path, machine: list[Gpu]) -> None:
    path = gguf_of(tmp_path / "m.gguf")
    with path.open("r+b") as file:
        file.truncate(5 * GB)  # nothing is written: the file has a hole
    with pytest.raises(ProviderError, match=r"take 5\.0 GB, and there is room for 4\.0 GB"):
        fit.check("llamacpp/m", str(path), gpu=False)
    machine.append(H100)
    fit.check("llamacpp/m", str(path), gpu=False)


def test_what_cannot_be_told_is_left_to_the_engine(model: str, machine: list[Gpu], tmp_path: Path) -> None:
    fit.check("vllm/org/Huge-700B", "org/Huge-700B", gpu=False)  # a guess refuses nothing
    fit.check("vllm/m", model, gpu=True)  # no program reports a GPU
    (Path(model) / "model.safetensors").write_bytes(b"damaged")
    fit.check("hf/m", model, gpu=False)


def test_gpus_needed_by_hand(tmp_path: Path) -> None:
    """72.7 billion parameters at 2 bytes are 145.4 GB; 16 calls of 4,096 tokens at 320 KiB a token are 21.5 GB; with
    3.2 GB beside and 73.6 of 80 GB to use: 86.7 GB each on two GPUs, 44.9 GB each on four."""
    size = size_of(folder_of(tmp_path / "q", QWEN_72B))
    need = fit.need_of(size, provider="vllm", gpu=True, context=4096, calls=16)
    assert (need.weights, need.kv) == (145_412_407_296, 16 * 4096 * 2 * 80 * 8 * 128 * 2)
    assert fit.gpus_needed(need, memory=80 * GB) == 4
    assert fit.gpus_needed(need, memory=141 * GB) == 2
    assert fit.gpus_needed(need, memory=141 * GB, share=0.6) == 4
    assert fit.gpus_needed(need, memory=200 * GB) == 1
    assert fit.gpus_needed(need, memory=4 * GB) is None


def test_the_number_of_gpus_divides_the_heads(tmp_path: Path) -> None:
    size = size_of(folder_of(tmp_path / "q", {**QWEN_72B, "num_attention_heads": 36, "num_key_value_heads": 4}))
    need = fit.need_of(size, provider="vllm", gpu=True, context=1, calls=1)
    assert fit.gpus_needed(need, memory=40 * GB) == 6  # five would hold it and do not divide 36


def test_a_close_that_keeps_the_weights_is_told_and_one_that_frees_them_is_not(
    model: str, machine: list[Gpu], capsys: pytest.CaptureFixture[str]
) -> None:
    before = Held(9 * GB, 0)
    assert fit.kept(f"hf/{model}", gpu=False, before=before, after=Held(5 * GB, 0)) == ""
    told = fit.kept(f"hf/{model}", gpu=False, before=before, after=Held(8 * GB, 0))
    assert told == f"hf/{model} was closed and gave back 1.0 GB of the 4.0 GB that its weights take."
    # Weights on disk that nobody has read were never in memory.
    assert fit.kept(f"hf/{model}", gpu=False, before=Held(GB, 0), after=Held(GB, 0)) == ""
    on_gpu = fit.kept(f"hf/{model}", gpu=True, before=Held(GB, 70 * GB), after=Held(GB, 70 * GB))
    assert "gave back 0 MB of the 2.0 GB" in on_gpu


def test_after_a_close_that_kept_memory_only_free_memory_of_a_gpu_counts(model: str, machine: list[Gpu]) -> None:
    machine.append(Gpu("busy", 80 * GB, GB))
    fit.check("vllm/m", model, gpu=True)
    with pytest.raises(ProviderError, match=r"one GPU has 1\.0 GB"):
        fit.check("vllm/m", model, gpu=True, left="hf/t was closed and gave back nothing.")


def test_gpus_are_read_from_the_makers_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(
        "#!/bin/sh\necho '0, GPU-aa, 143771, 143000, NVIDIA H200'\necho '1, GPU-bb, 143771, 100, NVIDIA H200'\n"
        "echo '2, GPU-cc, [N/A], [N/A], odd'\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert [(g.name, g.total >> 20, g.free >> 20) for g in memory.gpus()] == [
        ("NVIDIA H200", 143771, 143000),
        ("NVIDIA H200", 143771, 100),
    ]
    for chosen, free in (("1", [100]), ("GPU-aa", [143000]), ("", []), ("-1", [])):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
        assert [g.free >> 20 for g in memory.gpus()] == free
    program.write_text("#!/bin/sh\necho 'NVIDIA-SMI has failed'; exit 9\n")
    assert memory.gpus() == []


def test_memory_of_this_machine_and_process_is_as_the_system_tells_it() -> None:
    psutil = pytest.importorskip("psutil")
    found = memory.ram()
    assert found is not None
    assert 0 < found.available <= found.total <= psutil.virtual_memory().total
    assert memory.resident() == pytest.approx(psutil.Process().memory_info().rss, rel=0.05)
    block = bytearray(b"x" * 200_000_000)
    grown = memory.held().ram
    del block
    assert grown - memory.held().ram == pytest.approx(200_000_000, rel=0.1)
