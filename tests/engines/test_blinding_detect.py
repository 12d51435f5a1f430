"""The names detector on a real folder: a small token-classification model that the test trains on eight names."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from recuse.blinding.detect import TokenClassifier, load_detector
from recuse.errors import InputError, UsageError

pytestmark = pytest.mark.engine
torch = pytest.importorskip("torch", reason="needs torch: pip install 'recuse[hf]'")
transformers = pytest.importorskip("transformers", reason="needs transformers: pip install 'recuse[hf]'")
GIVEN = ("anna", "boris", "chinwe", "dalia")
FAMILY = ("smith", "okafor", "ivanova", "lee")
WORDS = ("the", "report", "was", "written", "by", "and", "read", "at", "noon", "in", "a", "room", ".", ",", "'", "s")
POSITIONS = 32  # the model's window; longer texts need several


def _trained(folder: Path, labels: tuple[str, str, str]) -> Path:
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *GIVEN, *FAMILY, *WORDS]
    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(tokens), encoding="utf-8")
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=POSITIONS)
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(tokens), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=POSITIONS + 2, id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )  # fmt: skip
    model = transformers.BertForTokenClassification(config)
    rng, optimizer = random.Random(1), torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        ids = torch.tensor([[2, *(rng.randrange(4, len(tokens)) for _ in range(20)), 3] for _ in range(16)])
        given, family = (ids >= 4) & (ids < 8), (ids >= 8) & (ids < 12)
        loss = model(input_ids=ids, labels=given.long() + 2 * family.long()).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _trained(tmp_path_factory.mktemp("names") / "model", ("O", "B-PER", "I-PER"))


@pytest.fixture(scope="module")
def detector(folder: Path) -> TokenClassifier:
    return load_detector(str(folder), device="cpu")


def test_names_come_as_they_stand_in_each_text(detector: TokenClassifier) -> None:
    texts = [
        "The report was written by Anna Smith, and read by BORIS.",
        "",
        "Dalia's report was read at noon.",
        "The room was read.",
    ]
    assert detector.find(texts) == [("Anna Smith", "BORIS"), (), ("Dalia",), ()]


def test_a_name_far_behind_the_first_window_is_found(detector: TokenClassifier) -> None:
    for filler in range(20, 70):  # so that the name meets every place of a window, its border too
        text = (
            " ".join(["the report was read ."] * (filler // 5) + ["noon"] * (filler % 5)) + " Chinwe Okafor in a room"
        )
        assert detector.find([text]) == [("Chinwe Okafor",)], filler


def test_batches_and_order_do_not_matter(detector: TokenClassifier) -> None:
    texts = [f"{name.title()} was in the room" + " at noon" * i for i, name in enumerate((*GIVEN, *FAMILY) * 5)]
    together = detector.find(texts)
    assert together == [detector.find([text])[0] for text in texts]
    assert [found[0].casefold() for found in together] == [*GIVEN, *FAMILY] * 5


def test_the_labels_of_personal_data_models_count_as_names(tmp_path: Path) -> None:
    folder = _trained(tmp_path / "model", ("O", "B-GIVENNAME", "I-SURNAME"))
    assert load_detector(str(folder), device="cpu").find(["by Anna Smith"]) == [("Anna Smith",)]


def test_what_is_no_such_model_is_refused_in_one_sentence(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "empty").mkdir()
    places = _trained(tmp_path / "places", ("O", "B-LOC", "I-LOC"))
    for path, said in ((tmp_path / "no", "no such folder"), (tmp_path / "empty", "no model"), (places, "person's")):
        with pytest.raises(InputError, match=said) as caught:
            load_detector(str(path), device="cpu")
        assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="threshold"):
        load_detector(str(folder), threshold=1.5)
