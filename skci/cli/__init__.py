"""The command line: reports of files, without a line of Python."""
