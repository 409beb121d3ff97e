"""Probing: what a masked language model knows about structure, read out by masking alone."""
