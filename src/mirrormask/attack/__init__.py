"""Attacks on text classifiers: how few words, swapped or added, turn their answer, and what helps against it."""
