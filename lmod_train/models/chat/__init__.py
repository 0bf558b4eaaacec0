"""Vision-language models: dialects, encoding, shared prefixes, generation, adapters and checkpoints."""
