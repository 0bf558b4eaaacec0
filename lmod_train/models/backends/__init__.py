"""Models that generate replies and are not trained here."""
