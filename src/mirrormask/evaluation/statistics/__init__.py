"""Intervals, verdicts and what seeds explain: the statistics behind every score."""
