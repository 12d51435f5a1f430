"""Texts that differ in a group's signal and in nothing else: the plan that people write, and its rendering."""
