"""Inference from estimates and their covariance."""
