"""Checks before the first step, and of the first checkpoint: what would make a training worthless is said early."""
