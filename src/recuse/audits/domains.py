"""Error rate by domain, each against all others, corrected over the domains."""

from __future__ import annotations

from collections import Counter

import numpy as np

from recuse import stats
from recuse.audits.measure import Measure, share
from recuse.audits.table import Table

_MOST = 50  # domains shown, the largest; each costs some milliseconds


def domains(table: Table, *, level: float) -> list[Measure]:
    """One finding a domain, compared with all other domains (Benjamini-Hochberg adjusted); none with one domain."""
    sizes = Counter(name for name, gold in zip(table.domain_of, table.gold, strict=True) if gold and name is not None)
    if len(sizes) < 2:
        return []
    shown = sorted(name for name, _ in sizes.most_common(_MOST))
    codes = {name: i for i, name in enumerate(shown)}
    code_of = np.array([codes.get(name or "", -1) for name in table.domain_of])[table.gold]
    per = table.per_pair(table.error)
    measures, pvalues = [], []
    for name, code in codes.items():
        inside = code_of == code
        measures.append(share(f"domain.error_rate:{name}", f"Error rate in {name}", per.where(inside), level=level))
        rows = per.answered
        usable = inside[rows].any() and not inside[rows].all()
        pvalues.append(_two_sided(per.value[rows], inside[rows], per.groups[rows]) if usable else 1.0)
    adjusted = stats.benjamini_hochberg(pvalues).pvalues
    return [m.noting(p_against_others=float(q)) for m, q in zip(measures, adjusted, strict=True)]


def _two_sided(values: np.ndarray, inside: np.ndarray, groups: np.ndarray) -> float:
    sides = [
        stats.test_difference_bound(values, inside, 0.0, groups=groups, alternative=side)
        for side in ("greater", "less")
    ]
    return min(1.0, 2.0 * min(sides))
