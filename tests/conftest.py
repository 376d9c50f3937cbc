"""What the tests share."""

import os

os.environ["MPLBACKEND"] = "Agg"
