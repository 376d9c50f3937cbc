"""Performance measures: plain functions, their declarations and their functionals."""
