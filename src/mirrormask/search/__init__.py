"""Search: find passages of a collection by their words, by their vectors, and by both together."""
