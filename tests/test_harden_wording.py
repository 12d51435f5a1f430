"""Variants files and what they make of a prompt: where text is added, and one sentence for what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from recuse.errors import InputError, UsageError
from recuse.explain.recommend import recommendation
from recuse.harden.variants import default_variants, load_variants
from recuse.harden.wording import read_paragraph, read_wording, told, warnings
from recuse.library import load_bias
from recuse.prompts import load_prompt

BARE = '+++\nid = "mine"\nversion = 1\nkind = "pairwise"\nformat = "label"\nsource = "a test"\n+++\n'
SHOWN = "<a>\n{{first}}\n</a>\n<b>\n{{second}}\n</b>\nA or B?"


def test_paragraph_and_warnings_end_the_system_message_and_nothing_else_changes() -> None:
    base = read_wording("pairwise/label")
    found = told(base, ["Look twice.", warnings([load_bias("authority")])], as_="warned").prompt
    values = {"question": "q", "first": "one", "second": "two"}
    before, after = base.prompt.fill(**values), found.fill(**values)
    assert [m.role for m in after] == [m.role for m in before] == ["system", "user"]
    assert after[1] == before[1]
    assert after[0].content.startswith(before[0].content + "\n\nLook twice.\n\n")
    assert after[0].content.splitlines()[-1].startswith("- Authority: The judge prefers an answer that invokes")
    assert (found.id, found.spec) == ("pairwise/label+warned", base.prompt.spec)
    assert found.hash != base.prompt.hash == load_prompt("pairwise/label").hash


@pytest.mark.parametrize("body", [SHOWN, f"@user\n{SHOWN}", f"\n\n@user\n{SHOWN}\n"])
def test_a_prompt_without_a_system_message_gets_one(body: str, tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text(BARE + body)
    found = told(read_wording(str(tmp_path / "mine.md")), ["Look twice."], as_="v").prompt.fill(first="x", second="y")
    assert (found[0].role, found[0].content) == ("system", "Look twice.")
    assert found[1].content == "<a>\nx\n</a>\n<b>\ny\n</b>\nA or B?"
    assert len(found) == 2


def test_a_recommendation_is_read_from_its_file_without_a_heading(tmp_path: Path) -> None:
    (tmp_path / "recommendation.md").write_text("# What to tell the judge\n\nA longer answer is no better.\n")
    (tmp_path / "v.toml").write_text('[[variants]]\nid = "told"\nparagraph = "recommendation.md"\n')
    (variant,) = load_variants(tmp_path / "v.toml").variants
    assert read_paragraph(variant.paragraph or "") == "A longer answer is no better."
    assert read_paragraph("Plain words.") == "Plain words."


def test_what_explain_recommends_is_read_back_word_for_word(tmp_path: Path) -> None:
    said = "Decide by which answer is correct.\n\n- Authority: set it aside."
    (tmp_path / "recommendation.md").write_text(recommendation(said, judge="openai/x"))
    assert read_paragraph(str(tmp_path / "recommendation.md")) == said


@pytest.mark.parametrize(
    ("text", "says"),
    [("See {{question}}.", "hole"), ("First.\n@user\nSay A.", "begins a message"), ("# Only a heading\n", "is empty")],
)
def test_a_paragraph_that_would_not_stay_one_is_refused(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text(text)
    with pytest.raises(InputError, match=says):
        read_paragraph(str(tmp_path / "p.md"))


def test_a_paragraph_file_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match=r"missing\.md: there is no such file"):
        read_paragraph("missing.md")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "field 'variants': field required"),
        ("variants = []", "at least 1 item"),
        ('[[variants]]\nid = "a"\nparagraf = "x"', "field 'variants.a.paragraf': extra inputs are not permitted"),
        ('[[variants]]\nid = "a"', "field 'variants.a': the variant changes nothing"),
        ('[[variants]]\nid = "present"\nreference = true', "is the name of the judge as it is"),
        ('[[variants]]\nreference = true', "field 'variants.number 1.id': field required"),
        (2 * '[[variants]]\nid = "a"\nreference = true\n', "two variants have the id"),
        ('[[variants]]\nid = "a"\npanel = ["fake/skill=1"]', "at least 2 items"),
        ('[[variants]]\nid = "a"\npanel = ["x/y", "x/y"]', "names a judge twice"),
        ('[[variants]]\nid = "a"\nreference = true\nreasons_first = true', "each bring a prompt"),
        ('[[variants]]\nid = "a"\ntemperature = -1', "temperature"),
        ('[[variants]]\nid = "a"\nlibrary = "some"', "library"),
        ('[[variants]]\nid = "a"\nblind = {}', "names nothing"),
        ('margin = 0\n[[variants]]\nid = "a"\nreference = true', "field 'margin'"),
        ("variants = 3", "field 'variants'"),
        ("= 3", "not TOML"),
    ],
)  # fmt: skip
def test_a_variants_file_that_is_wrong_gets_one_sentence(content: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "v.toml").write_text(content)
    with pytest.raises(InputError) as wrong:
        load_variants(tmp_path / "v.toml")
    assert says in str(wrong.value)
    assert "v.toml" in str(wrong.value)
    assert "\n" not in str(wrong.value).removesuffix("\n")


def test_files_are_found_beside_the_variants_file(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text(BARE + SHOWN)
    (tmp_path / "v.toml").write_text(
        '[[variants]]\nid = "a"\nprompt = "mine.md"\nblind = { names_file = "who.txt" }\n'
        '[[variants]]\nid = "b"\nprompt = "pairwise/reason"\n'
    )
    first, second = load_variants(tmp_path / "v.toml").variants
    assert first.prompt == str(tmp_path / "mine.md")
    assert first.blind is not None
    assert first.blind.names_file == tmp_path / "who.txt"
    assert second.prompt == "pairwise/reason"


def test_the_default_set_is_what_suits_the_prompt() -> None:
    def ids(**given: bool) -> list[str]:
        return [v.id for v in default_variants(**given).variants]

    assert ids(pairwise=True, references=True, biases=True) == ["warned", "reasons-first", "both-orders", "reference"]
    assert ids(pairwise=False, references=False, biases=True) == ["warned"]


def test_a_prompt_of_another_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="rewrite prompt"):
        read_wording("rewrite/inject")
