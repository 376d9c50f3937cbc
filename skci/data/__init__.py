"""Conversion of user data to checked, counted samples."""
