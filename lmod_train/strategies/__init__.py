"""How a model is spread over devices, and how its checkpoints are saved, vetted and read back."""
