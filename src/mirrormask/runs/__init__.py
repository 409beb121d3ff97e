"""Recipes and the runs they make: train, pretrain, encode, the quickstart."""
