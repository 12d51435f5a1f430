"""Real engines give their memory back when they are closed, and refuse what the memory cannot hold."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from engine_asks import label_asks

from recuse.backends import Options, open_backend
from recuse.errors import ProviderError
from recuse.lab.engines import Engines, Model, Role

pytestmark = pytest.mark.engine
# In a process of its own: what other tests hold would hide what an engine keeps. Libraries stay once they are imported,
# so that the first of three rounds is not counted.
_ROUNDS = """
import json, sys
from engine_asks import answer, label_asks
from recuse.backends import Options, open_backend
from recuse.machine.memory import held
seen = []
for _ in range(3):
    backend = open_backend(sys.argv[1], Options(max_context=512, concurrency=1))
    answer(backend, label_asks(1))
    at_work = held().ram
    backend.close()
    seen.append((at_work, held().ram))
print(json.dumps(seen))
"""


def rounds(model: str) -> list[tuple[int, int]]:
    """Resident bytes at work and after the close, of three rounds."""
    done = subprocess.run(
        [sys.executable, "-c", _ROUNDS, model], cwd=Path(__file__).parent, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [tuple(pair) for pair in json.loads(done.stdout.splitlines()[-1])]


def check_given_back(model: str, weights: int, *, growth: float = 20e6) -> None:
    """`growth`: bytes that each further round may keep."""
    (_, start), *later = rounds(model)
    for number, (at_work, after) in enumerate(later, start=1):
        assert at_work - after >= 0.9 * weights
        assert after - start < number * growth


def test_llama_cpp_gives_its_memory_back(smollm2: Path) -> None:
    pytest.importorskip("xllamacpp", reason="needs xllamacpp: pip install 'recuse[llamacpp]'")
    check_given_back("llamacpp/smollm2", smollm2.stat().st_size)


def test_transformers_gives_its_memory_back(smollm2_folder: Path) -> None:
    pytest.importorskip("transformers", reason="needs transformers: pip install 'recuse[hf]'")
    check_given_back(f"hf/{smollm2_folder}", (smollm2_folder / "model.safetensors").stat().st_size)


def test_vllm_gives_its_memory_back(smollm2_folder: Path) -> None:
    pytest.importorskip("vllm", reason="needs vLLM: pip install 'recuse[vllm]'")
    weights = (smollm2_folder / "model.safetensors").stat().st_size
    check_given_back(f"vllm/{smollm2_folder}", weights, growth=100e6)  # 45 to 50 MB a round were measured


def test_two_engines_that_take_turns_leave_room_for_each_other(
    smollm2: Path, smollm2_folder: Path, tmp_path: Path
) -> None:
    pytest.importorskip("xllamacpp", reason="needs xllamacpp: pip install 'recuse[llamacpp]'")
    pytest.importorskip("transformers", reason="needs transformers: pip install 'recuse[hf]'")
    options = Options(max_context=512, concurrency=1)
    models: dict[Role, Model] = {
        "judge": Model("llamacpp/smollm2", options, None), "teacher": Model(f"hf/{smollm2_folder}", options, None)
    }  # fmt: skip
    one, other, third = label_asks(2)[:3]
    with Engines(models, tmp_path) as engines:
        for role, ask in (("teacher", one), ("judge", one), ("teacher", other), ("judge", other), ("teacher", third)):
            engines.ask(role, [ask], phase="turn")  # type: ignore[arg-type]
    assert engines.opened == 5
    assert engines.notes == []


def test_a_gguf_file_of_ten_terabytes_is_refused_before_it_is_loaded(smollm2: Path, tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="needs xllamacpp: pip install 'recuse[llamacpp]'")
    path = tmp_path / "huge.gguf"
    with smollm2.open("rb") as file, path.open("wb") as huge:
        huge.write(file.read(8 << 20))
        huge.truncate(10 * 10**12)  # a hole, no bytes
    with pytest.raises(ProviderError, match=r"huge\.gguf is too large: its weights alone take 10,000\.0 GB"):
        open_backend(f"llamacpp/{path}", Options())


@pytest.mark.parametrize("provider", ["hf", "hf-reward", "vllm"])
def test_a_folder_of_ten_terabytes_is_refused_before_it_is_loaded(
    provider: str, smollm2_folder: Path, tmp_path: Path
) -> None:
    package = "vllm" if provider == "vllm" else "transformers"
    pytest.importorskip(package, reason=f"needs {package}")
    folder = tmp_path / "huge"
    folder.mkdir()
    for file in smollm2_folder.iterdir():
        if file.suffix != ".safetensors":
            (folder / file.name).write_bytes(file.read_bytes())
    tensor = {"dtype": "BF16", "shape": [5 * 10**12], "data_offsets": [0, 10**13]}
    header = json.dumps({"model.embed_tokens.weight": tensor}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(ProviderError, match=r"huge is too large: its weights alone take [12]0,000\.0 GB, and"):
        open_backend(f"{provider}/{folder}", Options())
