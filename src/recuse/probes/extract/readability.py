"""Flesch's reading ease, and how syllables are counted for it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from recuse.probes.extract.texts import Token, sentences_of

HIGHEST = 206.835 - 1.015 - 84.6  # one word of one syllable a sentence

_VOWELS = re.compile(r"[aeiouyàáâãäåæèéêëìíîïòóôõöøœùúûüýÿ]+")
# Vowels that are mostly spoken apart, as in dia-gram, cre-ate, sci-ence, be-ing, are-a.
_APART = re.compile(
    r"ia(?!l|n)|io(?!n|us)|(?<!p)eo(?!us|n)|(?<!q)ua(?!l)|iu|ie(?:t|n[ct])|[aeiou]ing\b|crea|uou|(?<=[aeiou][^aeiou])ea$"
)
_SILENT = re.compile(r"(?:[^aeiouyl]|[aeiouy]l|(?<![^aeiouy])l)e$|[^aeiouytd]ed$|[^aeiouyscxzgjh]es$|[^cs]hes$")
_SUFFIX = re.compile(r"(?<=[aeiouy][^aeiouy])e(?=(?:ly|ment|ful|less|ness)s?$)")


def syllables(word: str) -> int:
    """Syllables of an English word by rule, at least one.

    Groups of vowel letters (y among them) count one each; one less for a silent ending (-e but not -le behind a
    consonant, -ed but not -ted or -ded, -es but not behind s, c, x, z, g, j, sh, ch) and for a silent e before -ly,
    -ment, -ful, -less, -ness; one more for each pair of vowels that are mostly spoken apart (ia, io, eo, ua, iu, -ient,
    -ing behind a vowel ...). The rule knows no exceptions by word: "business" counts three.
    """
    word = word.casefold()
    count = len(_VOWELS.findall(word)) + len(_APART.findall(word)) - len(_SUFFIX.findall(word))
    return max(1, count - bool(_SILENT.search(word)))


def reading_ease(tokens: Sequence[Token]) -> float | None:
    """206.835 − 1.015 · words per sentence − 84.6 · syllables per word (Flesch 1948, J. Applied Psychology 32:221).

    Words without a letter are left out, contractions are one word, and so are hyphenated words. None without a word.
    """
    words, spoken, sentences = 0, 0, 0
    for start, end in sentences_of(tokens):
        said = [token for token in tokens[start:end] if any(character.isalpha() for character in token.text)]
        if said:
            sentences += 1
            words += count_words(said)
            spoken += sum(syllables(token.text) for token in said)
    if not words:
        return None
    return 206.835 - 1.015 * words / sentences - 84.6 * spoken / words


def count_words(tokens: Sequence[Token]) -> int:
    """Hyphenated words are one."""
    return sum(i == 0 or tokens[i - 1].after != "-" for i in range(len(tokens)))
