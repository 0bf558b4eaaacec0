"""Questions in Chinese and English that a model writes from the caption of an image: prompts and replies."""
