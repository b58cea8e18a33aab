"""Over ten thousand attempts to make likewise lose data, answer wrongly, hang or fail with an error not its own.

One file for each kind of attempt (`inputs`, `arguments`, `configs`, `commands`, `kills`, `unicode_forms`, `indexes`,
`writers`, `servers`); `attempt` says what an attempt and an outcome are, `sandbox` runs each in a new process, `report`
counts. See `__main__`.
"""
