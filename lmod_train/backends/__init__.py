"""Responders that only generate."""
