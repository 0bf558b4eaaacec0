"""What hangs beside the main path: one folder an extension, found by its folder, imported by no other room."""
