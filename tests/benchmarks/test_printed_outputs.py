"""Outputs that pages show are replaced by what their examples print, but for times."""

from benchmarks.printed_outputs import after_running

PAGE = """\
```python
print("cosine", 0.25 + part)
```

```text
{cosine}
```

```sh
echo "likewise took 0.2 s, 3 pairs"
```

```text
{taken}
```

```python
print(1 / 0)
```

```text
{failed}
```
"""


def test_an_output_that_changed_is_replaced_but_times_and_failed_examples_are_left(capsys):
    old = PAGE.format(cosine="cosine 0.5", taken="likewise took 0.7 s, 3 pairs", failed="1")
    new = PAGE.format(cosine="cosine 0.75", taken="likewise took 0.7 s, 3 pairs", failed="1")
    assert after_running(old, "part = 0.5") == new
    assert "ZeroDivisionError" in capsys.readouterr().err
    stale = PAGE.format(cosine="cosine 0.75", taken="likewise took 0.7 s, 2 pairs", failed="1")
    assert "took 0.2 s, 3 pairs" in after_running(stale, "part = 0.5")
