"""Resampled estimates: which models are fitted, and what follows from them."""
