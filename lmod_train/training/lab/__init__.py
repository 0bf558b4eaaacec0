"""Small experiments on a CPU about why a training succeeds or collapses."""
