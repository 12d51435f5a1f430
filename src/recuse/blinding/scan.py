"""What blinding finds in one text: names, pronouns, titles, gendered nouns and the user's signals, in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from recuse.blinding.fold import Folded
from recuse.blinding.lexicon import WORD, Entry, Lexicon
from recuse.blinding.names import NameIndex, Owners
from recuse.blinding.runs import Run, Runs, is_possessive

_BLANK = re.compile(r"\.(?=[a-z])|[ \t]{1,4}(?:\r?\n[ \t]{0,4})?|\r?\n[ \t]{0,4}|[-'](?:\r?\n)?")
_TO_NAME = re.compile(r"\.?[ \t]{0,4}(?:\r?\n)?[ \t]{0,4}(?=([^\W\d_]+))")
_VERB_BEFORE = re.compile(r"(?<![^\W_])(are|were|have|do)[ \t]{1,3}$")
_VERB_AFTER = re.compile(r"(?:'(re|ve)|[ \t]{1,3}(are|were|have|do|aren|weren|haven|don))(?![^\W_])")


@dataclass(frozen=True, slots=True)
class Hit:
    """Something to replace, in positions of the source. With `owners`, a name: `becomes` follows its placeholder."""

    start: int
    end: int
    kind: str
    becomes: str
    owners: Owners = frozenset()


class Scan:
    """One pass over a folded text. Each token is looked up once, so the time is linear in the text's length."""

    def __init__(
        self, folded: Folded, index: NameIndex, words: Lexicon, *, position: bool, kept: dict[str, int]
    ) -> None:
        self.folded, self.text, self.index, self.words, self.kept = folded, folded.text, index, words, kept
        self.runs = Runs(folded, index, words, position=position, kept=kept)

    def hits(self) -> Iterator[Hit]:
        """Hits in the order of the text; none overlaps another."""
        text, named, entries = self.text, self.index.known, self.words.entries
        feminine = any(old in text for old, _ in self.words.endings)
        at, after_name = 0, -9
        for match in WORD.finditer(text):
            token = match[0]
            if token in named:
                if match.start() < at:
                    continue
                if run := self.runs.at(match):
                    at = after_name = run.end
                    yield self._named(run)
                    continue
            elif token not in entries and not feminine:
                continue
            if match.start() < at:
                continue
            for hit in self._word(match, after_name=after_name):
                yield hit[0]
                at = hit[1]

    def _named(self, run: Run) -> Hit:
        start, end = self.folded.span(run.start, run.end)
        return Hit(start, end, "person", run.suffix, run.owners)

    def _word(self, match: re.Match[str], *, after_name: int) -> Iterator[tuple[Hit, int]]:
        """The hit at a token that is no name, and where it ends in the folded text."""
        for entry in self.words.entries.get(match[0], ()):
            end = self._phrase(entry, match)
            if end is None or (entry.kind == "title" and not self._is_title(entry, match, end, after_name)):
                continue
            if entry.rule == "generic":
                word = " ".join(entry.tokens)
                self.kept[word] = self.kept.get(word, 0) + 1
                return
            if entry.kind == "pronoun" and match[0] in self.words.plural_pronouns:
                yield from self._plural(match)
            elif entry.kind == "title":
                if self.text[end : end + 1] == "." and self._takes_stop(entry, end):
                    end += 1
                yield self._hit(match.start(), end, "title", "[TITLE]"), end
            elif entry.kind == "noun":
                yield self._noun(match.start(), end, entry.becomes)
            else:
                yield self._hit(match.start(), end, entry.kind, entry.becomes), end
            return
        for old, new in self.words.endings:
            if match[0].endswith(old) and len(match[0]) > len(old):
                yield self._noun(match.end() - len(old), match.end(), new)
                return

    def _phrase(self, entry: Entry, match: re.Match[str]) -> int | None:
        """Where the entry's last token ends, when all of them stand here and no digit is written to them."""
        text, end = self.text, match.end()
        if text[end : end + 1].isdigit() or (match.start() and text[match.start() - 1].isdigit()):
            return None
        for token in entry.tokens[1:]:
            gap = _BLANK.match(text, end)
            found = gap and WORD.match(text, gap.end())
            if not found or found[0] != token:
                return None
            end = found.end()
        return end

    def _hit(self, start: int, end: int, kind: str, becomes: str) -> Hit:
        return Hit(*self.folded.span(start, end), kind, becomes)

    def _noun(self, start: int, end: int, neutral: str) -> tuple[Hit, int]:
        first, last = self.folded.span(start, end)
        becomes = cased(neutral, self.folded.source[first:last])
        if self.text[end - 1] == "s" and not neutral.endswith("s") and is_possessive(self.text, end):
            becomes += f"{self.folded.source[self.folded.origin(end)]}s"
            end += 1
        return self._hit(start, end, "noun", becomes), end

    def _plural(self, match: re.Match[str]) -> Iterator[tuple[Hit, int]]:
        """They, with the verb beside it in the singular, as beside all other pronouns."""
        start, end = match.span()
        before = _VERB_BEFORE.search(self.text, max(0, start - 12), start)
        if before:
            yield self._verb(*before.span(1))
        yield self._hit(start, end, "pronoun", "[PRONOUN]"), end
        after = _VERB_AFTER.match(self.text, end)
        if after and not before:
            yield self._verb(*after.span(after.lastindex or 0))

    def _verb(self, start: int, end: int) -> tuple[Hit, int]:
        first, last = self.folded.span(start, end)
        singular = cased(self.words.agreement[self.text[start:end]], self.folded.source[first:last])
        return Hit(first, last, "agreement", singular), end

    def _is_title(self, entry: Entry, match: re.Match[str], end: int, after_name: int) -> bool:
        start, source = match.start(), self.folded.source
        first, last = self.folded.span(start, end)
        written = source[first:last]
        if entry.rule == "after name":
            between = self.text[after_name:start] if 0 <= after_name <= start <= after_name + 3 else "?"
            return between.strip(" ,.") == "" and between != "" and not written.islower()
        if entry.rule == "":
            return True
        following = _TO_NAME.match(self.text, end)
        known = following is not None and self._name_at(following)
        capital = following is not None and not source[self.folded.origin(following.end())].islower()
        if entry.rule == "before known":
            return known and written[0].isupper() and self.text[end : end + 1] == "."
        if entry.rule == "before name":
            return written[0].isupper() and (known or capital)
        if written.isupper() and len(written) > 1:  # MS is a degree and a company, MR a scan
            stop = self.text[end : end + 1] == "."
            loud = capital and following is not None and self._loud(following)
            return stop or known or loud
        return not (written.islower() and self.text[max(0, start - 2) : start].rstrip(" \t")[-1:].isdigit())  # 20 ms

    def _name_at(self, following: re.Match[str]) -> bool:
        """Whether a known name begins at the word after a title."""
        at, index = following.end(), self.index
        if index.unspaced is not None and index.unspaced.match(self.text, at):
            return True
        found = WORD.match(self.text, at)
        return found is not None and found[0] in index.known and self.runs.quietly().at(found) is not None

    def _loud(self, following: re.Match[str]) -> bool:
        start, end = following.span(1)
        word = self.folded.source[self.folded.origin(start) : self.folded.origin(end - 1) + 1]
        return word.isupper() and len(word) > 2

    def _takes_stop(self, entry: Entry, end: int) -> bool:
        if entry.rule in ("abbreviation", "before name", "before known"):
            return True
        after = self.text[end + 1 : end + 2]
        return entry.rule == "after name" and after not in ("", "\n") and not self.runs.ends_a_sentence(end + 1)


def cased(word: str, like: str) -> str:
    """`word` in the case of `like`: all capitals, a first capital, or as it is."""
    letters = [char for char in like if char.isalpha()]
    if len(letters) > 1 and all(char.isupper() for char in letters):
        return word.upper()
    if letters and letters[0].isupper():
        return word[0].upper() + word[1:]
    return word
