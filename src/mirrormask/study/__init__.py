"""Runs over seeds, compared fairly: grid, scores, verdicts and the page of a study."""
