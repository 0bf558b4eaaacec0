"""Writers of a report's contents, a file per format."""
