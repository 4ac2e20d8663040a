"""What a faked call costs, as a ratio to what it can't cost less than; `python -m benchmarks`."""
