"""Heads on an encoder: classifiers, learned with labels, with contrast beside the cross-entropy or before it."""
