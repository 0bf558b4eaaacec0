"""Classifiers and what they see: networks, crops, feature tables, augmentation, weights and their cards."""
