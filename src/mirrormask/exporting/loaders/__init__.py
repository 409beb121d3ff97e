"""What is laid beside an export: a few lines that run it without torch, and without mirrormask."""
