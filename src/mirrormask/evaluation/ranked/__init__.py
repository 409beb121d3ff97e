"""Retrieval: what encoders, words and indexes find in collections with judged queries."""
