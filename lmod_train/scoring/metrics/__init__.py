"""Metrics for torchmetrics, which gather predictions over batches and ranks and call `lmod_train.scoring`."""
