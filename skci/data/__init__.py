"""From what a user has to counted, checked data."""
