"""Samples in, records out: pure steps, and one pipeline that writes."""
