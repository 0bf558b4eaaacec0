"""Strategies that shard a model over devices, and saving, vetting and reading of its checkpoints."""
