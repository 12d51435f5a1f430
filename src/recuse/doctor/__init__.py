"""`recuse doctor`: what is installed and works, what this machine has, what a model needs, and whether it answers."""
