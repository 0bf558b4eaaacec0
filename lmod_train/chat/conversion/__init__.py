"""From a published layout to that of transformers: what becomes of each tensor, words, pictures, and a model card."""
