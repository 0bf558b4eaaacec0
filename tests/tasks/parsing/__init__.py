"""Tests of the room `parsing`."""
