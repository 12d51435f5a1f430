"""Rewriting rejected answers: rule-based edits, a teacher's rewrites, and the checks on both."""
