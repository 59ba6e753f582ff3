def add(notes: list[str], text: str) -> list[str]:
    return [*notes, text]
