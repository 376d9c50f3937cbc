"""The interval methods, and the solver of the score interval."""
