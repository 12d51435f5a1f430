"""Optional packages: a missing one names its install command, a broken one is called broken."""

from __future__ import annotations

from importlib import import_module, util
from types import ModuleType

from recuse.errors import BrokenInstall, MissingExtra


def require(module: str, extra: str) -> ModuleType:
    """Import `module` of the package that the extra installs. Raises MissingExtra or BrokenInstall."""
    top = module.split(".")[0]
    if util.find_spec(top) is None:
        raise MissingExtra(f"The package {top!r} is not installed.", hint=f"Install it: pip install 'recuse[{extra}]'.")
    try:
        return import_module(module)
    except Exception as error:
        raise BrokenInstall(
            f"The package {top!r} is installed but fails to import: {type(error).__name__}: {error}.",
            hint=f"Repair it: pip install --force-reinstall 'recuse[{extra}]'.",
        ) from error
