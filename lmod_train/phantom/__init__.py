"""Phantoms: drawn eyes with known truth, written in the folder layout of a raw dataset."""
