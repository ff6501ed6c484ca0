"""One package per target; nothing outside knows a framework."""
