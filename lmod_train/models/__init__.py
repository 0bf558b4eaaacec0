"""Plain networks, their loading and their cards, one file per dialect."""
