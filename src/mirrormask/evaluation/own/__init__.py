"""The user's own data: scored pairs, queries with documents, labelled texts."""
