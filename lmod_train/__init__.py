"""Train and evaluate multimodal language models on eye images, from raw datasets to the tables of a paper."""

__version__ = "0.1.0"
