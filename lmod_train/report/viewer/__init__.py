"""Data, images and pages of the viewer of predictions."""
