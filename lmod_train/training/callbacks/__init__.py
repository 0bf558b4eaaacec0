"""The shared evaluation path and the guards around training."""
