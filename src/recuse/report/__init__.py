"""Findings for readers: Markdown, one self-contained HTML page, the terminal, and strict JSON.

All forms take the same `result.AuditResult`. Text that came from a model or from data is shown, never interpreted.
"""
