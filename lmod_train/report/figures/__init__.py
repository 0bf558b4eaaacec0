"""Kinds of figures, one per file: each is drawn from its table alone."""
