"""Reports on measured figures: verdicts, claims, and each table's results, page and plot."""
