"""Command line: reports from files without Python."""
