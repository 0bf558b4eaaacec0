"""Phantoms in the folder shape of one raw dataset each."""
