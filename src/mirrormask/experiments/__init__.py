"""Recipes, the runs they make, and their records."""
