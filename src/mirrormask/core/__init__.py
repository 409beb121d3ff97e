"""What every layer stands on: parts and their registry, batches, errors, seeds and safe files."""
