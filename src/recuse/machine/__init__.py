"""This machine and what a model asks of it: sizes of models, memory that is there, memory that a process holds."""
