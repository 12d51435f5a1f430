"""The bias library ships whole, and a wrong file is named with its field."""

from __future__ import annotations

import re
import tomllib

import pytest

from recuse import assets
from recuse.errors import InputError, UsageError
from recuse.library import Bias, load_bias, load_library

GOOD = """
id = "tone"
name = "Tone"
definition = "The judge prefers a confident tone."
manifestations = ["Hedged answers lose."]
family = "formal"
source = ["Someone 2024, arXiv:2401.00001"]
status = "seed"
"""


# The properties and the attacks that the literature names, as the project lists them.
SEEDS = {
    *("position", "length", "verbosity", "authority", "citation", "markdown", "headings", "numbered-steps", "emoji"),
    *("emphasis", "sycophancy", "certainty", "hedging", "sentiment", "bandwagon", "refinement-label", "model-label"),
    *("novelty", "completeness", "complexity", "concreteness", "familiar-wording", "self-praise"),
    *("fallacy-oversight", "distraction"),
    *("attack-verdict", "attack-override", "attack-format", "attack-null", "attack-rubric", "attack-reference"),
    *("code-docstrings", "code-comments", "code-names", "code-imports", "code-idiom", "code-types"),
}


def test_the_seeds_ship_and_read_as_their_files_say():
    library = load_library()
    assert set(library) == SEEDS
    for id, bias in library.items():
        raw = tomllib.loads((assets.folder("bias_library") / f"{id}.toml").read_text(encoding="utf-8"))
        assert raw["name"] == bias.name
        assert raw["definition"].strip() == bias.definition
        assert load_bias(id) == bias


def test_every_seed_names_literature_by_arxiv_id():
    for bias in load_library().values():
        assert bias.source
        assert all(re.search(r"arXiv:\d{4}\.\d{5}$", source) for source in bias.source), bias.id
        assert len(bias.manifestations) >= 2


def test_a_folder_of_ones_own_is_read_in_alphabetical_order(tmp_path):
    for id in ("tone", "accent"):
        (tmp_path / f"{id}.toml").write_text(GOOD.replace('"tone"', f'"{id}"'))
    assert list(load_library(tmp_path)) == ["accent", "tone"]
    assert isinstance(load_bias("tone", tmp_path), Bias)


def test_an_unknown_bias_is_answered_with_the_known_ones():
    with pytest.raises(UsageError, match=r"no bias 'lenght'.*authority.*length.*position"):
        load_bias("lenght")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOOD + 'colour = "red"', "field 'colour': unknown key"),
        (GOOD.replace('name = "Tone"', ""), "field 'name'.*required"),
        (GOOD.replace('"Tone"', '"  "'), "field 'name'.*at least 1 character"),
        (GOOD.replace('["Hedged answers lose."]', '"Hedged answers lose."'), "field 'manifestations'.*list"),
        (GOOD.replace('"formal"', '"vibes"'), "field 'family'.*'cognitive', 'social', 'formal' or 'attack'"),
        (GOOD.replace('"tone"', '"../tone"'), "field 'id'"),
        (GOOD.replace('"tone"', '"voice"'), "field 'id'.*'voice' in a file named 'tone.toml'"),
        (GOOD + "oops", "not TOML"),
    ],
)
def test_a_wrong_file_is_named_with_its_field(tmp_path, content, message):
    (tmp_path / "tone.toml").write_text(content)
    with pytest.raises(InputError, match=rf"tone\.toml.*{message}"):
        load_library(tmp_path)


def test_no_folder_no_files_and_no_utf8_are_said_so(tmp_path):
    with pytest.raises(UsageError, match="not a folder"):
        load_library(tmp_path / "absent")
    with pytest.raises(InputError, match=r"no bias files"):
        load_library(tmp_path)
    (tmp_path / "tone.toml").write_bytes(b"id = '\xff'")
    with pytest.raises(InputError, match="not UTF-8"):
        load_library(tmp_path)
