def find(notes: list[str], word: str) -> list[str]:
    return [note for note in notes if word in note]
