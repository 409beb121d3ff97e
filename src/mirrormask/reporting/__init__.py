"""Pages, tables and figures: how anything measured is shown, whoever measured it."""
