"""Tests, named after what they test."""
