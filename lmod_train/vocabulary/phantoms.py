"""How the project's own drawings are named wherever a number or an image of theirs stands."""

NOTE = "phantom.json"
"""File in the root of a raw folder that was drawn; its presence is what makes the source a phantom."""

LICENCE = "CC0 1.0 (phantoms drawn by lmod_train)"
DRAWN = "drawn, not eyes"
