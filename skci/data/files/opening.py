"""Opening a file by the ending of its name."""

from pathlib import Path

from skci.data.files.arrow import ArrowFile, ParquetFile
from skci.data.files.delimited import STANDARD_INPUT, CsvFile
from skci.data.files.table import TableFile

_ENDINGS = {
    **dict.fromkeys((".csv", ".txt"), ","),
    **dict.fromkeys((".tsv", ".tab"), "\t"),
}
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc", ".arrows")


def open_table(
    path: str, *, delimiter: str | None = None, as_text: bool = False
) -> TableFile:
    """Open a file of a kind told by the ending of its name; "-" is CSV from stdin.

    `as_text` is for CSV, where values are text: labels then are, whatever they look
    like, and only empty cells are missing.
    """
    ending = Path(path).suffix.lower()
    if path == STANDARD_INPUT or delimiter is not None or ending in _ENDINGS:
        return CsvFile(path, delimiter or _ENDINGS.get(ending, ","), as_text)
    if ending in _PARQUET:
        return ParquetFile(path)
    if ending in _ARROW:
        return ArrowFile(path)
    endings = ", ".join([*_ENDINGS, *_PARQUET, *_ARROW])
    raise ValueError(
        f"{path} must end in one of {endings}; of CSV with another ending, name the "
        "delimiter"
    )
