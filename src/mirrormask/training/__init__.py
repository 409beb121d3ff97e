"""From a batch to an update: the method, the only loop, the optimizer, checkpoints."""
