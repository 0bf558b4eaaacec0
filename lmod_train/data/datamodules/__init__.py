"""Datamodules: batches of curated records."""
