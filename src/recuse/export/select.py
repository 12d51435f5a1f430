"""From variants to a set: the adversarial filter, near-duplicates, balance, places of the answers, the sample."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain, zip_longest
from random import Random
from statistics import median

from recuse.export.alike import alike
from recuse.export.variants import Variants
from recuse.pairs.rows import Position
from recuse.perturb.arms import ORIGINAL, Rewrite
from recuse.prompts import transcript
from recuse.types import Judgement, Pair, Preference

LIKE = 0.9  # cosine from which two texts count as the same: 6 of 1,500 pairs of RewardBench, 0 of 419 of LLMBar
SAMPLE = 0.2  # share of the rows that people look at
_WORD = re.compile(r"\w+|[^\w\s]")
Said = Mapping[tuple[str, str], Preference]  # by arm and pair: what a judge preferred in every order alike


@dataclass(frozen=True)
class Item:
    """A rewritten wrong answer that may become a row. `fooled`: the places of the judges that it misled."""

    pair: Pair
    arm: str
    bias: str
    rewrite: Rewrite
    fooled: frozenset[int] = frozenset()

    @property
    def text(self) -> str:
        return self.rewrite.text or ""

    @property
    def key(self) -> tuple[str, str]:
        return self.arm, self.pair.id


def unanimous(judged: Mapping[str, Sequence[Judgement]], *, views: int) -> Said:
    """What the judge prefers by arm and pair, where all its verdicts say the same and no view lacks one.

    views  2 for a judge that compares answers: both orders; it is 1 judgement for one that sees each answer alone
    """
    by_text: dict[tuple[str, str], list[Judgement]] = {}
    for arm, found in judged.items():
        for j in found:
            by_text.setdefault((arm, j.pair), []).append(j)
    said: dict[tuple[str, str], Preference] = {}
    for key, found in by_text.items():
        preferred = {j.prefers for j in found}
        one = next(iter(preferred))
        if len(preferred) == 1 and one is not None and len({j.order for j in found}) == views:
            said[key] = one
    return said


def items_of(variants: Variants, pairs: Sequence[Pair], said: Sequence[Said]) -> list[Item]:
    """Every usable variant, pair by pair, with the judges that it misled: right on the pair before, wrong on it now."""
    items = []
    for pair in pairs:
        for arm in variants.arms:
            rewrite = variants.usable[arm.id].get(pair.id)
            if rewrite is not None:
                fooled = frozenset(i for i, of_judge in enumerate(said) if misled(of_judge, arm.id, pair.id))
                items.append(Item(pair, arm.id, arm.bias or "", rewrite, fooled))
    return items


def misled(said: Said, arm: str, pair: str) -> bool:
    """Right in every order on the pair as it is, and wrong in every order on the variant."""
    return said.get((ORIGINAL.id, pair)) == "chosen" and said.get((arm, pair)) == "rejected"


def without_duplicates(items: Sequence[Item]) -> list[Item]:
    """The items without near-duplicates: of two, the first stays.

    Two pairs are the same from a cosine of `LIKE` on, over TF-IDF of words and pairs of words of the question and both
    answers as they were. Variants of one pair share most of their text by nature; they are the same where what was put
    in and taken out is, by the same measure.
    """
    pairs = list({item.pair.id: item.pair for item in items}.values())
    texts = [f"{transcript(p.prompt)}\n{p.chosen}\n{p.rejected}" for p in pairs]
    gone = {pairs[i].id for i in _repeats(texts)}
    by_pair: dict[str, list[Item]] = {}
    for item in items:
        if item.pair.id not in gone:
            by_pair.setdefault(item.pair.id, []).append(item)
    dropped = {
        of_pair[i].key
        for of_pair in by_pair.values()
        for i in _repeats([changes(item.pair.rejected, item.text) for item in of_pair])
    }
    return [item for of_pair in by_pair.values() for item in of_pair if item.key not in dropped]


def changes(before: str, after: str) -> str:
    """The words that a rewrite put in and took out."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    changed: list[str] = []
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            changed += [*old[i:j], *new[k:m]]
    return " ".join(changed)


def _repeats(texts: Sequence[str]) -> set[int]:
    """The places of texts that are as good as one before them which is itself no repeat."""
    gone: set[int] = set()
    for i, j in sorted(alike(texts, least=LIKE, tokens=_WORD.pattern), key=lambda pair: pair[::-1]):
        if i not in gone:
            gone.add(j)
    return gone


def balanced(items: Sequence[Item], *, seed: int) -> list[Item]:
    """The items with no bias above the median bias's number; where one is cut, its domains are cut to equal numbers.

    Which ones go is drawn by the seed. Cutting to the rarest bias would leave next to nothing of most sets.
    """
    counts = Counter(item.bias for item in items)
    if not counts:
        return []
    most = math.ceil(median(counts.values()))
    kept = set()
    for bias in sorted(counts):
        mine = [item for item in items if item.bias == bias]
        by_domain = _dealt(mine, lambda item: item.pair.domain or "", Random(f"balance {seed} {bias}"))
        turns = chain.from_iterable(zip_longest(*by_domain.values()))
        kept |= {item.key for item in [item for item in turns if item is not None][:most]}
    return [item for item in items if item.key in kept]


def places(items: Sequence[Item], *, seed: int) -> list[Position]:
    """Where the better answer of each item stands: as often first as second, in each bias too, within one."""
    found: dict[tuple[str, str], Position] = {}
    rng = Random(f"places {seed}")
    turn = rng.randrange(2)
    for of_bias in _dealt(items, lambda item: item.bias, rng).values():
        for item in of_bias:
            found[item.key] = "A" if turn == 0 else "B"
            turn = 1 - turn
    return [found[item.key] for item in items]


def sample(items: Sequence[Item], *, seed: int, share: float = SAMPLE) -> list[int]:
    """The places of a sample of `share` of the items (rounded up), in rising order, stratified by bias and domain.

    Each stratum has its share, rounded down; the largest remainders get what is left. Which items is drawn by the seed.
    """
    at = {item.key: i for i, item in enumerate(items)}
    strata = _dealt(items, lambda item: (item.bias, item.pair.domain or ""), Random(f"sample {seed}"))
    wanted = math.ceil(round(share * len(items), 9))
    quota = {stratum: share * len(of) for stratum, of in strata.items()}
    take = {stratum: math.floor(round(q, 9)) for stratum, q in quota.items()}
    by_rest = sorted(quota, key=lambda stratum: (take[stratum] - quota[stratum], str(stratum)))
    for stratum in by_rest[: wanted - sum(take.values())]:
        take[stratum] += 1
    return sorted(at[item.key] for stratum, of in strata.items() for item in of[: take[stratum]])


def _dealt(items: Sequence[Item], by: Callable[[Item], Hashable], rng: Random) -> dict[Hashable, list[Item]]:
    """The items by a property, in the order of its values, each list shuffled."""
    found: dict[Hashable, list[Item]] = {}
    for item in sorted(items, key=lambda item: (item.pair.id, item.arm)):
        found.setdefault(by(item), []).append(item)
    for value in sorted(found, key=str):
        rng.shuffle(found[value])
    return {value: found[value] for value in sorted(found, key=str)}
