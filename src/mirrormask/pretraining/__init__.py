"""Pretraining: from text alone to a masked language model with its own tokenizer."""
