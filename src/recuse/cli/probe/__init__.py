"""`recuse probe ...`: counterfactual probes of a model, and analyses of what one answered."""

from __future__ import annotations

import typer

from recuse.cli.probe.analyse import analyse
from recuse.cli.probe.bbq import bbq
from recuse.cli.probe.compare import compare

probe = typer.Typer(help="Probe a model for differences between groups.", no_args_is_help=True)
probe.command()(analyse)
probe.command()(bbq)
probe.command()(compare)
