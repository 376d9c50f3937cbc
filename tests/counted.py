"""Estimators and rows of tests, in a module that other processes import."""


class Counted:
    """Counts how often it is sent to another process."""

    def __init__(self, values):
        self.values = values
        self.shape = getattr(values, "shape", ())
        self.sent = 0

    def __getstate__(self):
        self.sent += 1
        return self.__dict__

    def __sizeof__(self):
        return 1_000_000

    def predict(self, X):
        return self.values.predict(X.values)
