"""Over ten thousand attempts to make likewise lose data, answer wrongly, hang or raise an error of another library.

One file for each kind of attempt (`inputs`, `arguments`, `configs`, `commands`, `kills`, `unicode_forms`, `indexes`,
`writers`, `servers`); `attempt` defines attempts and outcomes, `sandbox` runs each attempt in a new process, and
`report` counts outcomes. See `__main__`.
"""
