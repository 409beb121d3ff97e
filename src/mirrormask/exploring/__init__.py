"""A pile of texts at a glance: what repeats in it, and a picture of all of it."""
