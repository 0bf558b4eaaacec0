"""Writers of phantoms, one file for the folder layout of each raw dataset."""
