"""What a running server tells: metrics with TEI's names, live load, structured logs, traces."""
