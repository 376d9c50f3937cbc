"""Quantiles and tail probabilities of the maximum of correlated normals."""
