"""Tests of the phantoms."""
