"""`recuse probe ...`: counterfactual probes of a model, and analyses of what one answered."""

from __future__ import annotations

import typer

from recuse.cli.probe.analyse import analyse
from recuse.cli.probe.bbq import bbq
from recuse.cli.probe.compare import compare
from recuse.cli.probe.framing import framing
from recuse.cli.probe.implicit import implicit
from recuse.cli.probe.power import power
from recuse.cli.probe.run import run
from recuse.cli.probe.sheet import sheet
from recuse.cli.probe.slices import slices

probe = typer.Typer(help="Probe a model for differences between groups.", no_args_is_help=True)
probe.command()(analyse)
probe.command()(bbq)
probe.command()(compare)
probe.command()(framing)
probe.command()(implicit)
probe.command()(power)
probe.command()(run)
probe.command()(sheet)
probe.command()(slices)
