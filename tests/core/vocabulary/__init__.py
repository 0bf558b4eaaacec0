"""Tests of the room `vocabulary`."""
