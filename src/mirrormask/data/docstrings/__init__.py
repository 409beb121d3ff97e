"""The docstrings of installed packages: a corpus and a retrieval task that are there before any download."""
