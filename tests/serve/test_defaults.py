"""What holds if nothing is set: the limits of docs/serve.md and the help of `likewise serve`."""

from dataclasses import asdict

from likewise.serve.serve_settings import ServeSettings

KB, MB = 1024, 1024**2


def test_the_limits_of_a_server_are_those_that_its_page_names():
    limits = asdict(ServeSettings())
    assert limits.pop("budget") == {
        **{"head": 64 * KB, "header_lines": 128, "chunks": 1_000, "pipelined": 16, "requests": 64 * MB},
        **{"bodies": 64 * MB, "values": 500_000, "characters": 64_000_000, "pairs": 1_000_000, "layers": 128 * MB},
        **{"answer": 128 * MB, "answers": 256 * MB, "header_seconds": 20, "write_seconds": 10},
    }
    assert {name: value for name, value in limits.items() if value not in (None, ())} == {
        **{"host": "127.0.0.1", "port": 8080, "workers": 1, "log": "all", "traces": False, "drain_seconds": 30},
        **{"max_body": 32 * MB, "max_texts": 10_000, "max_characters": 500_000, "max_connections": 4096},
        **{"max_requests": 512, "max_waiting_texts": 20_000, "deadline": 60, "map_deadline": 300, "body_timeout": 20},
        **{"batch_tokens": 2048, "slice_seconds": 0.001},
    }
