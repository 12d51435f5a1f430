"""Extractors: what is read in a reply, one file a place where a bias shows. A plan names them: [extract.NAME]."""

from recuse.probes.extract.base import EXTRACTORS, Extractor, Value, build_extractor
from recuse.probes.extract.decision import Decision, DecisionSettings
from recuse.probes.extract.description import Description, DescriptionSettings
from recuse.probes.extract.ranked import Ranked, RankedSettings
from recuse.probes.extract.refusal import Refusal, RefusalSettings
from recuse.probes.extract.service import Service, ServiceSettings
from recuse.probes.extract.yes import YesNo, YesSettings

EXTRACTORS["decision"] = (DecisionSettings, Decision)
EXTRACTORS["refusal"] = (RefusalSettings, Refusal)
EXTRACTORS["description"] = (DescriptionSettings, Description)
EXTRACTORS["service"] = (ServiceSettings, Service)
EXTRACTORS["ranked"] = (RankedSettings, Ranked)
EXTRACTORS["yes"] = (YesSettings, YesNo)

__all__ = ["EXTRACTORS", "Extractor", "Value", "build_extractor"]
