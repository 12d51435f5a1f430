"""The loop that finds biases nobody listed, and proves each one on held-out pairs."""
