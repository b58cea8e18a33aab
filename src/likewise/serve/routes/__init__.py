"""The handlers of each API, thin: they turn a request into a job or a call, and its result into that API's reply."""
