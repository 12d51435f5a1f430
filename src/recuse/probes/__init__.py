"""Counterfactual probes of a product or of a judge: does the answer depend on who asks, or on how?"""
