"""Sampling designs, with a file for each design."""
