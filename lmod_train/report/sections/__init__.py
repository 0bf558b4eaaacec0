"""Sections of a report, a class per file."""
