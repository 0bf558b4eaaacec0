"""One raw dataset each: folders in, samples out."""
