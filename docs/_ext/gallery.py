"""Settings of the gallery of examples."""

import warnings


def fail_on_warnings(gallery_conf, fname):
    """Turn warnings of examples into errors."""
    warnings.simplefilter("error")
