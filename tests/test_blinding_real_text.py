"""On real text: no leak, little taken too much, and pairs of published benchmarks become one."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from recuse.blinding import Redactor, find_leaks, unblind

pytestmark = pytest.mark.data
REDACTOR = Redactor()
LETTERS = re.compile(r"[^\W\d_]+")
# The words that blinding is to take out beside names, from lists that are not ours where there are any.
PRONOUNS = set("he him his himself she her hers herself they them their theirs themself themselves".split())  # noqa: SIM905
TITLES = {"mr", "mrs", "ms", "miss", "mx", "dr", "prof", "sir", "madam"}


def gap(data: Path) -> Iterator[tuple[str, list[str]]]:
    with (data / "gap/gap-development.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield row["Text"], [row["A"], row["B"]]


def presidio(data: Path) -> Iterator[tuple[str, list[str]]]:
    with gzip.open(data / "presidio_synth/synth_dataset_v2.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            yield row["full_text"], [s["entity_value"] for s in row["spans"] if s["entity_type"] == "PERSON"]


def gendered(data: Path) -> set[str]:
    files = [data / f"gender_word_lists/{name}_word_file.txt" for name in ("male", "female")]
    files += [data / f"winobias/{name}.txt" for name in ("generalized_swaps", "extra_gendered_words")]
    return {word for path in files for word in path.read_text(encoding="utf-8").lower().split()}


@pytest.mark.parametrize("source", [gap, presidio])
def test_nothing_leaks_and_few_ordinary_words_go(source: object, data_dir: Path) -> None:
    """A leak is looked for in three ways: by the second check, by the words of the names, and by a list of pronouns."""
    taken_out = PRONOUNS | TITLES | gendered(data_dir)
    over = total = 0
    for text, names in source(data_dir):  # type: ignore[operator]
        found = REDACTOR.redact({"text": text}, names)
        blinded = found.texts["text"]
        assert unblind(blinded, found.spans) == text
        assert find_leaks(blinded, names) == ()
        words = {word for name in names for word in LETTERS.findall(name) if len(word) > 3}
        assert {word.lower() for word in words & set(LETTERS.findall(blinded))} <= {*found.kept, *TITLES}
        assert not PRONOUNS & set(LETTERS.findall(blinded.lower()))
        own = {word.lower() for name in names for word in LETTERS.findall(name)}
        total += sum(word.lower() not in own | taken_out for word in LETTERS.findall(text))
        for span in found.spans:
            left = Counter(LETTERS.findall(span.placeholder))
            words = Counter(LETTERS.findall(span.original)) - left
            over += sum(n for word, n in words.items() if word.lower() not in own | taken_out)
    assert over / total < 0.005  # 0.0017 of 123,109 words in gap, 0.0042 of 18,568 in presidio_synth


def test_all_triples_of_winogender_become_one(data_dir: Path) -> None:
    texts = defaultdict(set)
    with (data_dir / "winogender/all_sentences.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            texts[row["sentid"].rsplit(".", 2)[0]].add(REDACTOR.redact({"text": row["sentence"]}).texts["text"])
    assert len(texts) == 240
    assert [key for key, blinded in texts.items() if len(blinded) > 1] == []


def test_the_pairs_of_winobias_become_one(data_dir: Path) -> None:
    """Of the 1,584 pairs, those that differ in the marked pronoun alone, found by masking pronouns."""
    pronoun = re.compile(r"\b(he|she|him|her|his|hers|himself|herself)\b", re.IGNORECASE)
    pairs = 0
    for name in ("type1.txt.dev", "type1.txt.test", "type2.txt.dev", "type2.txt.test"):
        sides: list[dict[str, set[str]]] = []
        for side in ("pro", "anti"):
            blinded = defaultdict(set)
            for line in (data_dir / f"winobias/{side}_stereotyped_{name}").read_text(encoding="utf-8").splitlines():
                sentence = re.sub(r"^\d+ |[\[\]]", "", line)
                blinded[pronoun.sub("_", sentence)].add(REDACTOR.redact({"text": sentence}).texts["text"])
            sides.append(blinded)
        for masked in sides[0].keys() & sides[1].keys():
            assert len(sides[0][masked] | sides[1][masked]) == 1
            pairs += 1
    assert pairs > 1500


def test_resumes_under_all_names_of_the_field_experiment_become_one(data_dir: Path) -> None:
    with (data_dir / "bertrand_mullainathan/resume.csv").open(encoding="utf-8", newline="") as file:
        names = {(row["firstname"], row["sex"]) for row in csv.DictReader(file)}
    assert len(names) == 36
    families = ["Washington", "Walsh", "O'Brien", "Rivers"]
    blinded = set()
    for i, (first, sex) in enumerate(sorted(names)):
        she = sex == "female"
        full = f"{first} {families[i % 4]}"
        text = (
            f"{full.upper()}\n{full} has six years of sales experience; {'she' if she else 'he'} led a team.\n"
            f"References know {first} as {'a saleswoman' if she else 'a salesman'} of note. "
            f"{'Ms.' if she else 'Mr.'} {families[i % 4]} may start in May 2004, says {'her' if she else 'his'} letter."
        )
        found = REDACTOR.redact({"text": text}, [full])
        assert find_leaks(found.texts["text"], [full]) == ()
        blinded.add(found.texts["text"])
    assert len(blinded) == 1


def test_published_pairs_of_gendered_words_become_one_word(data_dir: Path) -> None:
    """The pairs of WinoBias that are a pair in a dictionary too: loose and misspelt ones are left out."""
    loose = {
        "chick",
        "chicks",
        "mentleman",
        "adultor",
        "adultors",
        "barnoesses",
        "heros",
        "beau",
        "beaus",
        "seamstress'",
    }
    loose |= {"girl", "girls", "nun", "nuns", "governess", "governesses", "godess", "godesses", "miss", "chairwomen"}
    pairs = []
    for name in ("generalized_swaps", "extra_gendered_words"):
        for line in (data_dir / f"winobias/{name}.txt").read_text(encoding="utf-8").splitlines():
            words = [word.strip() for word in line.split("\t") if word.strip()]
            if len(words) == 2 and not loose & set(words):
                pairs.append(words)
    assert len(pairs) > 120
    differ = [p for p in pairs if len({REDACTOR.redact({"text": f"The {w} spoke."}).texts["text"] for w in p}) > 1]
    assert differ == []
