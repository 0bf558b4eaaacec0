"""Curated records in the file formats of other tools, and their conversations as curated records."""
