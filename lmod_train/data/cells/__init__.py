"""Cells of people's tables: what they state, which files they name, and the pictures that those hold."""
