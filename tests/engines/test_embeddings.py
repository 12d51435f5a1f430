"""Sentence embeddings by a model that the test builds: what they are, and a merge by them."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recuse.discovery.merge import Proposal, merge, proposed
from recuse.discovery.similar import Embeddings, load_embeddings
from recuse.errors import InputError, UnknownModel
from recuse.explain.themes import find_themes

pytestmark = pytest.mark.engine
library = pytest.importorskip(
    "sentence_transformers", reason="needs sentence-transformers: pip install 'recuse[embeddings]'"
)
torch = pytest.importorskip("torch", reason="needs torch: pip install 'recuse[hf]'")
transformers = pytest.importorskip("transformers", reason="needs transformers: pip install 'recuse[hf]'")

WORDS = ("sea", "ship", "sailor", "calm", "expert", "voice", "words", "prefers", "answers", "numbers", "digits", "of")
TEXTS = (
    "prefers answers of sea", "prefers answers of sailor", "numbers digits", "digits numbers numbers",
    "prefers calm voice of expert of answers of words",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of one random layer with mean pooling, saved as sentence-transformers saves any."""
    base, saved = (tmp_path_factory.mktemp(name) for name in ("base", "saved"))
    vocabulary = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=5 + len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64, initializer_range=0.5,
    )  # fmt: skip
    transformers.BertTokenizerFast(vocab={word: i for i, word in enumerate(vocabulary)}).save_pretrained(base)
    transformers.BertModel(config).save_pretrained(base)
    library.SentenceTransformer(str(base), device="cpu").save(str(saved))
    return saved


@pytest.fixture(scope="module")
def embed(folder: Path) -> Embeddings:
    return load_embeddings(str(folder))


def test_themes_are_found_by_a_real_model(embed: Embeddings) -> None:
    """Explanations of two kinds that share one word."""
    rng = np.random.default_rng(0)
    kinds = (("sea", "ship", "sailor"), ("numbers", "digits", "expert"))
    texts = [" ".join(["voice", *rng.choice(kinds[i % 2], 8)]) for i in range(40)]
    found = find_themes(texts, [str(i) for i in range(40)], embed=embed)
    assert len(found.themes) >= 2
    odd = [sum(member % 2 for member in theme.members) for theme in found.themes]
    of_one_kind = sum(max(n, len(t.members) - n) for n, t in zip(odd, found.themes, strict=True))
    assert of_one_kind >= 0.9 * 40  # of the model's words, drawn at random, some lie near each other
    assert {t.words[0] for t in found.themes} <= {*kinds[0], *kinds[1]}


def by_hand(folder: Path, text: str) -> np.ndarray:
    """Mean of the last layer over all tokens, at length one."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model: Any = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        mean = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(dim=0).numpy()
    return mean / np.linalg.norm(mean)


def test_the_vectors_are_those_of_a_plain_forward_pass_whatever_stands_beside_a_text(
    folder: Path, embed: Embeddings
) -> None:
    vectors = embed(TEXTS)
    assert len({tuple(vector) for vector in vectors.round(6)}) == len(TEXTS)  # it knows the words
    assert vectors == pytest.approx(np.array([by_hand(folder, text) for text in TEXTS]), abs=1e-5)
    for i, text in enumerate(TEXTS):
        assert (embed([text])[0] == vectors[i]).all()
    assert (embed(TEXTS[::-1])[::-1] == vectors).all()


def test_what_is_proposed_is_what_is_nearest_by_hand(folder: Path, embed: Embeddings) -> None:
    vectors = np.array([by_hand(folder, text) for text in TEXTS])
    nearest = [[j for j in np.argsort(-(vectors @ v)) if j != i] for i, v in enumerate(vectors)]
    assert proposed(TEXTS, 3, embed=embed) == nearest[:3]
    # By words, the first text is like those that share "prefers" or "answers" and like no other.
    assert set(proposed(TEXTS, 3)[0]) == {1, 4}


def test_the_model_decides_on_what_the_embeddings_propose(folder: Path, embed: Embeddings) -> None:
    named = [Proposal(f"n{i}", text, "shows", f"do {i}", str(i)) for i, text in enumerate(TEXTS)]
    asked: list[tuple[str, tuple[str, ...]]] = []

    def decide(questions: Any) -> list[int | None]:
        asked.extend((text, tuple(listed)) for text, listed in questions)
        places = [next((i for i, other in enumerate(listed) if "digits" in other), None) for _, listed in questions]
        return [place if "digits" in text else None for (text, _), place in zip(questions, places, strict=True)]

    found = merge(named, {}, decide=decide, embed=embed, source="run")
    assert [len(listed) for _, listed in asked] == [4] * 5  # by words, the two on digits are like no other
    assert sorted(c.support for c in found.candidates) == [1, 1, 1, 2]
    assert merge(named[::-1], {}, decide=decide, embed=embed, source="run") == found


def test_a_model_is_named_with_its_weights_and_another_of_the_same_name_is_not_it(
    folder: Path, embed: Embeddings, tmp_path: Path
) -> None:
    assert embed.identity["library"] == f"sentence-transformers {library.__version__}"
    model = library.SentenceTransformer(str(folder), device="cpu")
    with torch.no_grad():
        next(iter(model.parameters())).add_(0.01)
    model.save(str(tmp_path / "tuned"))
    tuned = load_embeddings(str(tmp_path / "tuned"))
    assert load_embeddings(str(folder)).identity == embed.identity
    assert tuned.identity["weights"] != embed.identity["weights"]


def test_a_model_of_the_hub_is_named_with_its_commit(
    folder: Path, embed: Embeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, cached = "0123456789abcdef0123456789abcdef01234567", tmp_path / "models--nobody--tiny"
    shutil.copytree(folder, cached / "snapshots" / commit)
    (cached / "refs").mkdir()
    (cached / "refs/main").write_text(commit)
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    found = load_embeddings("nobody/tiny")
    assert found.identity == {"model": "nobody/tiny", "library": embed.identity["library"], "commit": commit}
    assert (found(TEXTS) == embed(TEXTS)).all()


def test_what_is_no_such_model_is_refused_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="no such folder"):
        load_embeddings(str(tmp_path / "missing"))
    with pytest.raises(InputError, match=r"no modules\.json"):
        load_embeddings(str(tmp_path))
    (tmp_path / "modules.json").write_text("{")
    with pytest.raises(InputError, match="cannot load it"):
        load_embeddings(str(tmp_path))
    with pytest.raises(UnknownModel, match="neither a folder here nor a model that the hub gave"):
        load_embeddings("nobody/no-such-model")


def test_what_the_libraries_warn_of_while_they_load_is_not_heard(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def load(*_: object, **__: object) -> None:
        for name in ("huggingface_hub.utils._http", "sentence_transformers.util.file_io"):
            logging.getLogger(name).warning("Retrying in 8s")
        raise OSError("no such model")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(logging.getLogger("huggingface_hub"), "propagate", True)
    monkeypatch.setattr(library, "SentenceTransformer", load)
    with pytest.raises(UnknownModel, match="no such model"):
        load_embeddings("nobody/no-such-model")
    assert not caplog.records
    logging.getLogger("sentence_transformers.util.file_io").warning("heard again")
    assert [record.message for record in caplog.records] == ["heard again"]
