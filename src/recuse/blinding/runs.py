"""One person's name at one place of a text: the longest run of words, initials and particles that belong together."""

from __future__ import annotations

import re
from dataclasses import dataclass

from recuse.blinding.fold import Folded
from recuse.blinding.lexicon import WORD, Lexicon
from recuse.blinding.names import NameIndex, Owners
from recuse.blinding.position import is_the_word

# What may stand between two parts of a name: a hyphen, an apostrophe, a full stop or comma (see `_joins`), blanks with
# at most one line break.
_GAP = re.compile(r"-(?:\r?\n)?|'|[.,]?(?:[ \t]{1,8}(?:\r?\n[ \t]{0,8})?|\r?\n[ \t]{0,8})|\.")
_LONGEST = 12  # parts of a name
_OPENING_QUOTE = re.compile(r"(?:^|[\s(\"])'(?=[^\W_])")
_NONE: Owners = frozenset()


@dataclass(frozen=True, slots=True)
class Run:
    """A name in folded text; `owners` are those who may be meant, `suffix` what follows the placeholder."""

    start: int
    end: int
    owners: Owners
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class _Part:
    token: str
    start: int
    end: int
    lower: bool


class Runs:
    """Finds the run at a token. `kept` counts the ordinary words and acronyms that it left."""

    def __init__(self, folded: Folded, index: NameIndex, words: Lexicon, *, position: bool, kept: dict[str, int]):
        self.folded, self.text, self.index, self.words = folded, folded.text, index, words
        self.position, self.kept = position, kept
        self._capitals: bool | None = None

    def quietly(self) -> Runs:
        """The same, with a count of its own."""
        return Runs(self.folded, self.index, self.words, position=self.position, kept={})

    def at(self, match: re.Match[str]) -> Run | None:
        """The name that begins with the token of `match`, or None."""
        index, first = self.index, self._part(match)
        owners = self._bearers(first.token)
        parts = [first]
        while owners and len(parts) < _LONGEST and parts[-1].token not in index.plural:
            more = self._next(parts, owners)
            if more is None:
                break
            owners = more[1]
            parts += more[0]
        if owners:
            run = self._accepted(parts)
            if run is not None:
                return run
        return self._letters(first)

    def _uses_capitals(self) -> bool:
        if self._capitals is None:
            self._capitals = self.folded.source != self.folded.source.lower()
        return self._capitals

    def _part(self, match: re.Match[str]) -> _Part:
        char = self.folded.source[self.folded.origin(match.start())]
        return _Part(match[0], match.start(), match.end(), char.islower())

    def _bearers(self, token: str) -> Owners:
        index = self.index
        return index.strong.get(token, _NONE) | index.weak.get(token, _NONE) | index.plural.get(token, _NONE)

    def _next(self, parts: list[_Part], owners: Owners) -> tuple[list[_Part], Owners] | None:
        """The next part of the run, with a middle name or initial that the list does not have; None at its end."""
        part = self._joined(parts, owners)
        if part is None:
            return None
        again = any(part.token == earlier.token for earlier in parts)
        if again and (parts[-1].token, part.token) not in self.index.follows:
            return None  # the name a second time
        common = owners & self._bearers(part.token)
        if common and not (len(part.token) == 1 and part.token not in self.index.strong and not self._initial(part)):
            return [part], common
        if (
            part.lower
            or not (self._initial(part) or len(part.token) > 1)
            or (len(part.token) > 1 and part.token in self.words.entries)
        ):
            return None
        beyond = self._joined([*parts, part], owners)
        if beyond is None or beyond.token == parts[-1].token:
            return None
        if self.text[parts[-1].end] not in " \n\r" or (len(part.token) > 1 and self.text[part.end] not in " \n\r"):
            return None
        third = self._joined([*parts, part, beyond], owners)
        if third is not None and (beyond.token, third.token) in self.index.follows:
            common = owners & self._bearers(beyond.token)  # the first part of "O'Brien" or "van der Berg"
        elif beyond.lower or len(beyond.token) == 1:
            return None
        else:
            common = owners & self.index.strong.get(beyond.token, _NONE)
        return ([part, beyond], common) if common else None

    def _joined(self, parts: list[_Part], owners: Owners) -> _Part | None:
        part = parts[-1]
        gap = _GAP.match(self.text, part.end)
        found = gap and WORD.match(self.text, gap.end())
        if not gap or not found:
            return None
        after = self._part(found)
        sign = gap[0][0]
        if sign == ".":
            titled = part.token in self.index.weak and len(part.token) <= 4
            return after if len(part.token) == 1 or titled or gap[0] == "." else None
        if sign == ",":
            turned = owners & self.index.turned.get((part.token, after.token), _NONE)
            initial = len(after.token) == 1 and self.text[after.end : after.end + 1] == "." and not after.lower
            return after if turned or (initial and len(parts) == 1) else None
        return after

    def _initial(self, part: _Part) -> bool:
        stop = self.text[part.end : part.end + 1] == "."
        return len(part.token) == 1 and (stop or (not part.lower and part.token not in "ai"))

    def _ordinary(self, part: _Part) -> bool:
        base = part.token
        if base in self.index.plural:
            base = next(t for t in (base[:-1], base[:-2]) if t in self.index.strong)
        return part.token in self.words.ordinary or base in self.words.ordinary or base in self.words.pronouns

    def _strong(self, part: _Part) -> bool:
        return part.token in self.index.strong or part.token in self.index.plural

    def _accepted(self, parts: list[_Part]) -> Run | None:
        whole = self._whole(parts)
        end = len(parts)
        while end > max(whole, 1) and self._loose(parts[end - 1]):
            end -= 1
        if whole < 1 and not self._may_lead(parts[:end]):
            return None
        sure = any(self._strong(part) and not self._ordinary(part) for part in parts[:end])
        named = any(self._strong(part) for part in parts[:end])
        if sure or whole > 1 or (end > 1 and named and not any(part.lower for part in parts[:end])):
            return self._run(parts[:end])
        if self._strong(parts[0]):
            return self._doubtful(parts[0])
        tokens = "".join(part.token for part in parts[:end])
        if end > 1 and len(tokens) == end and tokens in self.index.initials and self._initial(parts[end - 1]):
            return self._run(parts[:end])
        return None

    def _whole(self, parts: list[_Part]) -> int:
        """How many of the first parts make up a whole name."""
        tokens = tuple(part.token for part in parts)
        turned = any((*tokens[n:], *tokens[:n]) in self.index.whole for n in range(1, len(tokens)))  # "O'Brien, Anne"
        if turned and not (parts[0].lower and self._ordinary(parts[0])):
            return len(tokens)
        return next((n for n in range(len(tokens), 0, -1) if tokens[:n] in self.index.whole), 0)

    def _loose(self, part: _Part) -> bool:
        """A part that may stand at the end of a run by chance."""
        if len(part.token) == 1:
            return not self._initial(part)
        if self._after_name(part) and not part.lower:
            return False
        return part.token in self.words.particles or (part.lower and self._ordinary(part))

    def _after_name(self, part: _Part) -> bool:
        return any(entry.rule == "after name" for entry in self.words.entries.get(part.token, ()))

    def _may_lead(self, parts: list[_Part]) -> bool:
        first = parts[0]
        if len(parts) == 1:
            return self._strong(first)
        if len(first.token) == 1 and self._initial(first):
            return True
        if not self._strong(first):
            return (first.token, parts[1].token) in self.index.follows
        return not (first.lower and self._ordinary(first)) or self._strong(first)

    def _doubtful(self, part: _Part) -> Run | None:
        if self.position and is_the_word(
            self.text, part.start, part.end, lower=part.lower, capitals=self._uses_capitals(), words=self.words
        ):
            self.kept[part.token] = self.kept.get(part.token, 0) + 1
            return None
        return self._run([part])

    def _letters(self, part: _Part) -> Run | None:
        """The first letters of a name in capitals, such as JFK, or the name of an account, such as jkennedy@."""
        handle = self.index.handles.get(part.token)
        if handle and "@" in (self.text[part.start - 1 : part.start], self.text[part.end : part.end + 1]):
            return Run(part.start, part.end, handle)
        owners = self.index.initials.get(part.token)
        source = self.folded.source[self.folded.origin(part.start) : self.folded.origin(part.end - 1) + 1]
        if not owners or not source.isupper() or len(part.token) < 2:
            return None
        if any(self.text[i : i + 1].isdigit() for i in (part.start - 1, part.end) if i >= 0):
            return None
        if part.token in self.words.acronyms:
            self.kept[part.token] = self.kept.get(part.token, 0) + 1
            return None
        return Run(part.start, part.end, owners)

    def _run(self, parts: list[_Part]) -> Run:
        owners = self._bearers(parts[0].token)
        for part in parts[1:]:
            owners = (owners & self._bearers(part.token)) or owners
        text, last = self.text, parts[-1]
        start, end, suffix = parts[0].start, last.end, ""
        if last.token in self.index.plural and last.token not in self.index.strong:
            suffix = "s"
        if (
            (len(last.token) == 1 or self._after_name(last))
            and text[end : end + 1] == "."
            and not self.ends_a_sentence(end + 1)
        ):
            end += 1
        elif (last.token[-1] == "s" or suffix) and is_possessive(text, end):
            suffix, end = f"{self.folded.source[self.folded.origin(end)]}s", end + 1
        return Run(start, end, owners, suffix)

    def ends_a_sentence(self, position: int) -> bool:
        """Whether the full stop before `position` ends the sentence too."""
        source, at = self.folded.source, self.folded.origin(position)
        after = source[at : at + 3].lstrip(" \t")
        return not after or after[0] in "\n\r\"'”’)" or (after[0].isupper() and source[at] in " \t")


def is_possessive(text: str, end: int) -> bool:
    """Whether the apostrophe at `end`, after an s, is a genitive and not the close of a quotation."""
    if text[end : end + 1] != "'" or not re.match(r"[ \t\n]{1,3}[^\W_]", text[end + 1 : end + 6]):
        return False
    line = text[max(0, end - 300) : end].rsplit("\n", 1)[-1]
    return not _OPENING_QUOTE.search(line)
