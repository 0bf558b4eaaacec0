"""Checks of a training before its first step and of its first checkpoint."""
