"""`recuse probe ...`: counterfactual probes of a model, and analyses of what one answered."""

from __future__ import annotations

import typer

probe = typer.Typer(help="Probe a model for differences between groups.", no_args_is_help=True)
