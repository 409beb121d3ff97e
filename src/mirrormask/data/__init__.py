"""Where text comes from: files, corpora on disk, pairings, and the STS tasks."""
