"""All measurements, one after the other, each in a new process."""

import subprocess
import sys

QUESTIONS = ("cold_start", "latency", "throughput", "memory", "budget", "training")


def main() -> None:
    for question in QUESTIONS:
        print(f"── {question}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{question}"], check=True)


if __name__ == "__main__":
    main()
