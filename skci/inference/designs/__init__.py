"""How the rows of a sample were drawn: a file for each design."""
