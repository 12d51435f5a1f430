"""`python -m recuse` is the command `recuse`."""

from recuse.cli import main

main()
