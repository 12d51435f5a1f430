"""Error rate by domain, each against all others, corrected over the domains."""

from __future__ import annotations

import numpy as np

from recuse import stats
from recuse.audits.measure import Measure, share
from recuse.audits.table import Table


def domains(table: Table, *, level: float) -> list[Measure]:
    """One finding a domain, compared with all other domains (Benjamini-Hochberg adjusted); none with one domain."""
    names = sorted({name for name in table.domain_of if name is not None})
    if len(names) < 2 or not table.gold:
        return []
    per = table.per_pair(table.error)
    measures, pvalues = [], []
    for name in names:
        inside = np.array([domain == name for domain in table.domain_of])
        measures.append(share(f"domain.error_rate:{name}", f"Error rate in {name}", per.where(inside), level=level))
        rows = per.answered
        usable = inside[rows].any() and not inside[rows].all()
        pvalues.append(_two_sided(per.value[rows], inside[rows], per.groups[rows]) if usable else 1.0)
    adjusted = stats.benjamini_hochberg(pvalues)
    return [m.noting(p_against_others=float(q)) for m, q in zip(measures, adjusted, strict=True)]


def _two_sided(values: np.ndarray, inside: np.ndarray, groups: np.ndarray) -> float:
    sides = [
        stats.test_difference_bound(values, inside, 0.0, groups=groups, alternative=side)
        for side in ("greater", "less")
    ]
    return min(1.0, 2.0 * min(sides))
