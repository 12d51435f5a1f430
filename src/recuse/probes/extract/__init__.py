"""Extractors: what is read in a reply, one file for each place where a bias shows. A plan names them as [extract.NAME]."""

from recuse.probes.extract.base import EXTRACTORS, Extractor, Value, build_extractor

__all__ = ["EXTRACTORS", "Extractor", "Value", "build_extractor"]
