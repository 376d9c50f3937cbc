"""What the gallery of examples is made with."""

import warnings


def fail_on_warnings(gallery_conf, fname):
    """Let an example fail that warns."""
    warnings.simplefilter("error")
