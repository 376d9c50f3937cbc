"""Results, and how they are shown."""
