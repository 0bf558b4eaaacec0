"""Checks before the first step: what would make a training worthless is said before it costs anything."""
