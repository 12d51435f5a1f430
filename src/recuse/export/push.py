"""`recuse export push`: a finished set goes to a data set repository of the hub, or into a local folder."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from recuse.errors import AuthError, InputError, ProviderError, TransientError, UsageError
from recuse.export.folder import check_free, write_whole
from recuse.extras import require
from recuse.pairs.hub import quiet

RECORD = "export.json"
_EXTRA = "data"  # datasets brings huggingface_hub with it


def push(folder: Path, to: str, *, private: bool = True, message: str | None = None) -> str:
    """Send the files of an export to `to`; returns where they are now, as an address or a path.

    to       "org/name" on the hub, which is made where it is missing, or a folder of this machine that is new or empty:
             a path that begins with /, . or ~
    private  whether a repository that is made is private; one that exists stays what it is

    Before anything is sent, `datasets` reads the set as its card says. Raises MissingExtra without that package,
    InputError for a folder that holds no export or a set that `datasets` cannot read, UsageError for a name that cannot
    be one on the hub and for a benchmark that is not ready for release unless it goes to a local folder, AuthError
    where the hub wants another token, and TransientError where it cannot be reached.
    """
    record = _record(folder)
    local = to.startswith(("/", ".", "~"))
    if local:
        check_free(Path(to).expanduser())
    release = record.get("release", {"ready": True})
    if not (local or release["ready"]):
        raise UsageError(
            f"{folder} is not ready for release: {release['why']}.",
            hint="Have people label its sample (recuse export verify), or push it to a folder.",
        )
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    _readable(folder)
    if local:
        target = Path(to).expanduser()
        write_whole(target, {file.name: file.read_bytes() for file in files})
        return str(target)
    return _upload(folder, to, [file.name for file in files], private=private, message=message)


def _record(folder: Path) -> dict[str, Any]:
    file = folder / RECORD
    if not file.is_file():
        raise InputError("this folder holds no export", path=folder, hint="Give the --out folder of `recuse export`.")
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"not JSON ({error})", path=file, hint="Export the set again.") from None
    if not isinstance(record, dict) or "kind" not in record:
        raise InputError("not as recuse writes it", path=file, hint="Export the set again.")
    return record


def _readable(folder: Path) -> None:
    """Raise InputError where `datasets` cannot read a configuration of the set, through a cache that is thrown away."""
    datasets = require("datasets", _EXTRA)
    with quiet(datasets), tempfile.TemporaryDirectory(prefix="recuse-") as cache:
        try:
            for name in datasets.get_dataset_config_names(str(folder)):
                datasets.load_dataset(str(folder), name, cache_dir=cache)
        except (ValueError, OSError, datasets.exceptions.DatasetsError) as error:
            said = " ".join(str(error).split())[:300]
            raise InputError(
                f"`datasets` cannot read this set ({said})", path=folder, hint="Export the set again."
            ) from None


def _upload(folder: Path, name: str, files: list[str], *, private: bool, message: str | None) -> str:
    """One commit with all files. `huggingface_hub` keeps and sends the token; it is never read here."""
    hub = require("huggingface_hub", _EXTRA)
    errors = require("huggingface_hub.errors", _EXTRA)
    try:
        hub.utils.validate_repo_id(name)
    except errors.HFValidationError:
        raise UsageError(
            f"{name!r} cannot name a data set on the hub.", hint="Give ORG/NAME, or a folder that begins with ./ or /."
        ) from None
    api = hub.HfApi()
    try:
        with quiet(require("datasets", _EXTRA)):
            api.create_repo(name, repo_type="dataset", private=private, exist_ok=True)
            api.upload_folder(
                repo_id=name, repo_type="dataset", folder_path=str(folder), allow_patterns=files,
                commit_message=message or f"Add {folder.resolve().name}, made by recuse export",
            )  # fmt: skip
    except errors.HfHubHTTPError as error:
        raise _refused(name, error.response.status_code, str(error)) from None
    except errors.OfflineModeIsEnabled:
        raise UsageError("HF_HUB_OFFLINE is set, so nothing is sent.", hint="Unset it, or push to a folder.") from None
    except (errors.HTTPError, OSError) as error:  # of the hub's HTTP library, and of the system
        raise TransientError(f"The hub {api.endpoint} cannot be reached ({error}). Try again later.") from None
    return f"{api.endpoint}/datasets/{name}"


def _refused(name: str, status: int, said: str) -> Exception:
    if status in (401, 403):
        return AuthError(
            f"The hub does not let you write to {name} (HTTP {status}).",
            hint="Log in with `hf auth login`, or set HF_TOKEN to a token that may write there.",
        )
    if status == 429 or status >= 500:
        return TransientError(f"The hub could not take {name} (HTTP {status}). Try again later.")
    return ProviderError(f"The hub refused {name} (HTTP {status}): {' '.join(said.split())[:300]}")
