"""Proposals: changes that wait for the decision of a person."""
