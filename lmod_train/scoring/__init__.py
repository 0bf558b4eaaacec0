"""Definitions of all metrics, confidence intervals and statistical tests."""
