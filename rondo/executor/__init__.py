"""Running programs: the fork server, its client, the wire protocol and the in-process variant."""
