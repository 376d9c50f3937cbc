"""Contrast of colours, as WCAG 2 defines it."""

import numpy as np
from matplotlib.colors import to_rgb


def luminance(colour):
    channels = np.array(to_rgb(colour))
    linear = np.where(
        channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
    )
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(*pair):
    darker, lighter = sorted(map(luminance, pair))
    return (lighter + 0.05) / (darker + 0.05)
