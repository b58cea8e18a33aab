"""The arena: our engines and other libraries take turns in one run, each in its own process."""
