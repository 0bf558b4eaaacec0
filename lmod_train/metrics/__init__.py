"""torchmetrics classes that gather outcomes over batches and ranks and call scoring."""
