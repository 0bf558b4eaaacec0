"""Automatic checks of drafted questions: pure functions, one file each."""
