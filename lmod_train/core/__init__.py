"""What every folder uses: types, errors, words, files on disk, and input that is not trusted."""
