"""The second check can fail: it finds each kind of leak in a text that a broken redactor left, and says where alone."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import recuse.blinding.verify as verify
from recuse.blinding import BlindSettings, Redactor, Signal, find_leaks
from recuse.blinding.lexicon import lexicon
from recuse.errors import InputError

SCHOOL = (Signal("school", ("Howard University", "#-year-old", "北京大学")),)
NAMES = ["Anna Lee-Novak", "Seán O’Brien", "王芳", "Will May", "أحمد علي"]


@pytest.mark.parametrize(
    ("text", "leak", "kind"),
    [
        ("Here [PERSON_1] and Anna", "Anna", "name"),
        ("NOVAK’S book", "NOVAK", "name"),
        ("the Novaks", "Novaks", "name"),
        ("Lee\u2011Novak", "Lee", "name"),
        ("a\u200bnna came", "a\u200bnna", "name"),
        ("An\u0301na came", "An\u0301na", "name"),
        ("Ａｎｎａ came", "Ａｎｎａ", "name"),
        ("**An**na came", "An**na", "name"),
        ("Here_Anna_Lee", "Anna", "name"),
        ("annaleenovak@x.org", "annaleenovak", "name"),
        ("Sean OBrien", "Sean", "name"),
        ("[PERSON_1] obrien", "obrien", "name"),
        ("o'brien", "o'brien", "name"),
        ("我叫王芳很高兴", "王芳", "name"),
        ("我叫Anna很高兴", "Anna", "name"),
        ("ولأحمد", "أحمد", "name"),
        ("I told Will you know", "Will", "name"),
        ("Dear will, hello", "will", "name"),
        ("in May", "May", "name"),
        ("Se&aacute;n", "Se&aacute;n", "name"),
        ("O&#39;Brien", "Brien", "name"),
        ("the No-\n  vak", "No-\n  vak", "name"),
        ("her-\nself", "her", "pronoun"),
        ("a wait-\nress", "wait-\nress", "noun"),
        ("M. [PERSON_1]", "M.", "title"),
        ("Sig.ra Ito", "Sig.ra", "title"),
        ("by A. L. N. himself", "A. L. N.", "initials"),
        ("signed ALN here", "ALN", "initials"),
        ("so she is", "she", "pronoun"),
        ("[PRONOUN] and HERS", "HERS", "pronoun"),
        ("he’s", "he", "pronoun"),
        ("with xemself", "xemself", "pronoun"),
        ("h\u00aderself", "h\u00aderself", "pronoun"),
        ("Mr. [PERSON_1]", "Mr.", "title"),
        ("MS [PERSON_1]", "MS", "title"),
        ("Señora Ito", "Señora", "title"),
        ("Dr. Ito", "Dr.", "title"),
        ("Miss [PERSON_1]", "Miss", "title"),
        ("[PERSON_1], Jr.", "Jr.", "title"),
        ("王先生", "先生", "title"),
        ("王先生", "王", "name"),
        ("王[TITLE]", "王", "name"),
        ("a waitress", "waitress", "noun"),
        ("an actress", "actress", "noun"),
        ("two businesswomen", "businesswomen", "noun"),
        ("a spacewoman", "woman", "noun"),
        ("the maiden name", "maiden name", "noun"),
        ("non-binary", "non-binary", "gender"),
        ("at HOWARD  University", "HOWARD", "signal:school"),
        ("a 45-year-old", "45-year-old", "signal:school"),
        ("在北京大学读书", "北京大学", "signal:school"),
    ],
)
def test_each_kind_of_leak_is_found_at_its_place(text: str, leak: str, kind: str) -> None:
    found = find_leaks(text, NAMES, signals=SCHOOL)
    at = text.index(leak)
    assert any(one.kind == kind and at <= one.offset < at + len(leak) for one in found)


def test_a_leak_never_says_what_leaked() -> None:
    [leak] = find_leaks("so Novak spoke", NAMES)
    assert "novak" not in f"{leak} {leak!r} {leak.__class__.__slots__}".lower()
    with pytest.raises(InputError, match="name 2 of the list") as error:
        find_leaks("text", ["Novak", " "])
    assert "novak" not in str(error.value).lower()


def test_what_may_stay_is_no_leak() -> None:
    clean = "An actor will come in May 2020; MS in CS, 20 ms, HER2, the theme, [PERSON_1] and [PRONOUN]. I've a lever."
    assert find_leaks(clean, ["Will May", "Bo Do"]) == ()
    common = "This was less than the lies in the lines: many times, and thus the names on both sides. A&M; Edward M. Xu"
    assert find_leaks(common, ["Thi Wa", "Les Li", "Tim Lin", "Thu Nam", "Sid Ho"]) == ()
    strict = BlindSettings(ordinary_words="redact", masculine_generics="redact")
    assert [leak.kind for leak in find_leaks(clean, ["Will May"], settings=strict)] == ["noun", "name", "name"]


TEXT = "Ms. Anna Novak, a waitress, said that she met a female engineer of Howard University. A.N., Anna's and NOVAK."


@pytest.mark.parametrize("kind", ["person", "pronoun", "title", "noun", "gender", "signal:school"])
def test_a_redactor_that_forgets_any_single_span_is_caught(kind: str) -> None:
    """A mutant for each span: all is blinded but that one."""
    found = Redactor(signals=SCHOOL).redact({"text": TEXT}, ["Anna Novak"])
    blinded = found.texts["text"]
    spans = [span for span in found.spans if span.kind == kind]
    assert spans
    assert find_leaks(blinded, ["Anna Novak"], signals=SCHOOL) == ()
    for span in spans:
        broken = blinded[: span.start] + span.original + blinded[span.end :]
        leaks = find_leaks(broken, ["Anna Novak"], signals=SCHOOL)
        assert leaks
        assert all(span.start <= leak.offset < span.start + len(span.original) for leak in leaks)


def test_every_listed_form_is_caught_and_no_neutral_word_is() -> None:
    for settings in (BlindSettings(), BlindSettings(masculine_generics="redact")):
        for entries in lexicon(settings).entries.values():
            for entry in entries:
                if entry.rule in ("", "abbreviation"):
                    form = " ".join(entry.tokens)
                    assert find_leaks(f"so {form} it", settings=settings), form
                assert find_leaks(f"so {entry.becomes} it", settings=settings) == (), entry
        for _, neutral in lexicon(settings).endings:
            assert find_leaks(f"so space{neutral} it", settings=settings) == ()


def test_a_neutral_noun_takes_the_article_of_what_it_replaces() -> None:
    nouns = [e for entries in lexicon(BlindSettings()).entries.values() for e in entries if e.kind == "noun"]
    wrong = [
        (entry.tokens[0], entry.becomes)
        for entry in nouns
        if entry.becomes and (entry.tokens[0][0] in "aeiou") != (entry.becomes[0].lower() in "aeiou")
    ]
    assert wrong == []


def test_the_second_check_shares_no_code_with_the_redactor() -> None:
    folder = Path(verify.__file__).parent
    allowed = {
        "recuse",
        "recuse.blinding.settings",
        "recuse.errors",
        "recuse.blinding.seen",
        "recuse.blinding.verify_names",
    }
    for name in ("verify.py", "verify_names.py", "seen.py"):
        tree = ast.parse((folder / name).read_text(encoding="utf-8"))
        used = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert {module for module in used if module.startswith("recuse")} <= allowed
    for name in ("fold", "names", "position", "runs", "scan", "redact", "lexicon", "settings"):
        source = (folder / f"{name}.py").read_text(encoding="utf-8")
        assert not re.search(r"import .*(seen|verify)|blinding\.(seen|verify)", source)
