"""Encoders for places without torch: graphs, token vectors, and the quickest of what is installed."""
