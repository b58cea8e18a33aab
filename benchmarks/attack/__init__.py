"""Over ten thousand attempts to make likewise lose data, return wrong results, hang or raise another library's error.

One file for each kind of attempt (`inputs`, `arguments`, `configs`, `commands`, `kills`, `unicode_forms`, `indexes`,
`writers`, `servers`); `attempt` defines attempts and outcomes, `sandbox` runs each attempt in a new process, and
`report` counts outcomes. See `__main__`.
"""
