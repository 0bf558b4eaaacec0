"""Failures that rules find in a reply, one file a kind, and their place among the failure modes of the papers."""
