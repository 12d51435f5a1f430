"""Extractors: what is read in a reply, one file for each place where a bias shows. A plan names them [extract.NAME]."""

from recuse.probes.extract.base import EXTRACTORS, Extractor, Value, build_extractor
from recuse.probes.extract.ranked import Ranked, RankedSettings
from recuse.probes.extract.yes import YesNo, YesSettings

EXTRACTORS["ranked"] = RankedSettings, Ranked
EXTRACTORS["yes"] = YesSettings, YesNo

__all__ = ["EXTRACTORS", "Extractor", "Value", "build_extractor"]
