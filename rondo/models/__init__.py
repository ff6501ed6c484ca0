"""Framework-neutral models: operators with their shape rules, architectures, growing graphs."""
