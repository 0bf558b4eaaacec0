"""Folders in the shape of X-PCR, drawn from known truth."""

from lmod_train.phantom.folders.xpcr.folder import truths, write

__all__ = ["truths", "write"]
