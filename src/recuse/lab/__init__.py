"""Where rewrites are made and judged: two models behind their ledgers, and a bench for each set of pairs."""
