"""What a running server reports: metrics with TEI's names, live load, structured logs, traces."""
