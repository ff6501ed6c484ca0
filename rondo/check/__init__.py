"""`rondo check`: invocation sequences around a user's own model, judged like any other case."""
