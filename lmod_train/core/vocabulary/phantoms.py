"""Names and licence of phantoms, the project's drawn eyes."""

NOTE = "phantom.json"
"""File in the root of a drawn raw folder; its presence marks the source as a phantom."""

LICENCE = "CC0 1.0 (phantoms drawn by lmod_train)"
DRAWN = "drawn, not eyes"

REDRAWN = "counterfactual"
"""Name of an image redrawn with only the asked fact changed; ``.counterfactual`` is the folder beside the image."""
