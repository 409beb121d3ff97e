"""Text: files and datasets in, corpora and their tokens on disk."""
