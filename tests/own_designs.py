"""Designs as a user writes them."""

import numpy as np

from skci.designs import Component


class Grouped:
    """Clusters, by a user's own hand."""

    def __init__(self, groups):
        self.groups, self.n_units = groups, len(np.unique(groups))

    def components(self, influences):
        yield Component.of_units(influences, self.groups)

    def __str__(self):
        return "grouped by hand"


class TwoWay:
    """Clusters in two ways."""

    columns = ("first", "second")

    def __init__(self, first, second):
        self.first, self.second = first, second

    @property
    def n_units(self):
        return min(len(np.unique(self.first)), len(np.unique(self.second)))

    def components(self, influences):
        first, second = (np.asarray(each) for each in (self.first, self.second))
        for factor, sign in ((first, 1), (second, 1), (first * 1000 + second, -1)):
            yield Component.of_units(influences, factor, sign)

    def __str__(self):
        return "clustered in two ways"
