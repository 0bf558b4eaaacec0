"""Requests to OpenAI-compatible endpoints: content, results, retries, concurrency and budget."""
