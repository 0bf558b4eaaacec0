"""Datasets: sources, curation, audit, formats, datamodules."""
