"""What measured figures say: verdicts, claims, and the results, page and plot of a table."""
