"""Text in, an answer or the reason why not out."""
