"""Image classifiers: networks, crops, feature tables, augmentation, pre-trained weights and their model cards."""
