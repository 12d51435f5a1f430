"""Effects of arms on a judge's errors: contrasts against the placebo, and the rule by which a bias is accepted."""
