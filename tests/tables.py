"""Tables of calls and of what they say: parameters of tests, one case a line."""


def table(text):
    """Parameters from lines with "->" between them; what is long goes on below."""
    lines = text.strip().replace("\n    ->", "->").splitlines()
    return [tuple(cell.strip() for cell in line.split("->")) for line in lines]
