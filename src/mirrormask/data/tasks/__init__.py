"""Annotated data by its published formats: STS pairs, trees, discourse, segmented text, aspects."""
