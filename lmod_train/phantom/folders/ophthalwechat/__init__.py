"""Folders in the shape of OphthalWeChat, drawn from known truth."""

from lmod_train.phantom.folders.ophthalwechat.folder import truths, write

__all__ = ["truths", "write"]
