"""Extractors: what is read in a reply, one file a place where a bias shows. A plan names them: [extract.NAME]."""

from recuse.probes.extract.base import EXTRACTORS, Extractor, Value, build_extractor
from recuse.probes.extract.decision import Decision, DecisionSettings
from recuse.probes.extract.description import Description, DescriptionSettings
from recuse.probes.extract.refusal import Refusal, RefusalSettings
from recuse.probes.extract.service import Service, ServiceSettings

EXTRACTORS["decision"] = (DecisionSettings, Decision)
EXTRACTORS["refusal"] = (RefusalSettings, Refusal)
EXTRACTORS["description"] = (DescriptionSettings, Description)
EXTRACTORS["service"] = (ServiceSettings, Service)

__all__ = ["EXTRACTORS", "Extractor", "Value", "build_extractor"]
