"""Classification with cloze questions: patterns, label words, few-shot tuning, ensembles and soft prompts."""
