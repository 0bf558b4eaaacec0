"""Convert a checkpoint from a published layout to that of transformers: tensors, tokenizer, processor, model card."""
