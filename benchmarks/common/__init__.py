"""Command line, cached results, tables and figures, shared by all benchmarks."""
