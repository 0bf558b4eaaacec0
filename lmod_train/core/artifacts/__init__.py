"""What lies on disk between the stages, one codec each: records, replies, predictions, scores, runs, manifests."""
