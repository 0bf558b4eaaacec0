"""Drafts of questions that a model writes from known labels and boxes: prompts, and what is read in the replies."""
