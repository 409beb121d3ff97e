"""The encoder, its poolings, the masked language model, and bulk passes over both."""
