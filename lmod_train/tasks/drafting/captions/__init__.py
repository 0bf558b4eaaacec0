"""Steps from the questions that a model wrote from captions to those that people review: checks, filter, balance."""
