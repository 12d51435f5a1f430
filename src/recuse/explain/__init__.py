"""Why a judge and people disagree: faults of reading and of place, and what the content comes down to."""
