"""Pages whose examples need packages that are not installed are not run."""

from importlib.util import find_spec

_NEEDED = {"text.rst": ("jiwer", "sacrebleu")}

collect_ignore = [
    page for page, names in _NEEDED.items() if not all(map(find_spec, names))
]
