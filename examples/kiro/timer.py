def minutes(seconds: float) -> float:
    if seconds < 0:
        raise ValueError("time does not run backwards")
    return seconds / 60
