"""LightningModules: what learns, and what answers through the Trainer."""
