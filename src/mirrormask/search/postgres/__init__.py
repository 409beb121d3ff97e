"""An index in PostgreSQL with pgvector: written with COPY, searched in SQL, equal to one in a folder."""
