"""Sentence embeddings, by which wordings that share no word are proposed as the same: an extra, never the default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recuse import hub, weights
from recuse.effects.scores import Floats
from recuse.errors import InputError
from recuse.extras import require

_HINT = "Give the folder of a downloaded model, or leave --similarity out to compare by words."


@dataclass(frozen=True, eq=False)
class Embeddings:
    """A model of sentence-transformers, and what identifies it in a run's configuration."""

    identity: Mapping[str, str]
    model: Any

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Unit vectors, (texts, dimensions). The vector of a text does not hang on the others."""
        import numpy as np

        # In a batch of several, padding changes the last digits.
        vectors = self.model.encode(list(texts), batch_size=1, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float64)


def load_embeddings(name: str) -> Embeddings:
    """A local folder, or a name on the hub; on the CPU, since a GPU is the judge's and the teacher's.

    Pickled weights and code from the model's repository are refused. Raises MissingExtra, InputError for a folder that
    is missing or holds no such model, UnknownModel for a hub name that cannot be had.
    """
    path = Path(name).expanduser().absolute()
    folder = path if path.is_dir() else None
    if folder and not (folder / "modules.json").is_file():
        raise InputError(
            "no modules.json: this folder holds no sentence-embedding model",
            path=folder,
            hint="Give one as sentence-transformers saves it.",
        )
    source = str(folder) if folder else weights.model_source(name, hint=_HINT)
    library = require("sentence_transformers", "embeddings")
    require("transformers", "embeddings").utils.logging.disable_progress_bar()
    try:
        with hub.errors_only("huggingface_hub", "sentence_transformers"):
            model = library.SentenceTransformer(source, device="cpu", model_kwargs={"use_safetensors": True})
    except (OSError, ValueError) as error:
        if folder:
            said = " ".join(str(error).split())[:300]
            raise InputError(f"sentence-transformers cannot load it: {said}", path=folder) from None
        raise weights.unknown(name, error, hint=_HINT) from None
    identity = {"model": name, "library": f"sentence-transformers {library.__version__}"}
    if folder:
        identity["weights"] = weights.fingerprint(folder)
    elif commit := getattr(model.model_card_data, "base_model_revision", None):
        identity["commit"] = str(commit)
    return Embeddings(identity, model)
