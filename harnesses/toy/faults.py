"""temp"""

FAULTS: dict = {}
