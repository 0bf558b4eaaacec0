"""Requests to an OpenAI-compatible endpoint: what is sent, how an attempt ends, and how many are in flight."""
