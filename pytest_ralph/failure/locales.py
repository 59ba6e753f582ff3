"""The usual messages of gcc, make, git, bash and psql in other languages, translated to English.

Our own runs set `LC_MESSAGES=C`, but a user may set `LC_ALL`. Translating a line before it is read
keeps the rules in one language.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.failure.lines import numbers_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PHRASES_FILE = Path(__file__).with_name("locales.txt")


@cache
def _phrases() -> tuple[re.Pattern[str], Mapping[str, str]]:
    """Return one pattern for all phrases, and the English of each in lower case."""
    english = ""
    translations: dict[str, str] = {}
    for line in PHRASES_FILE.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith(" "):
            translations[line.strip().lower()] = english
        else:
            english = line
    longest_first = sorted(translations, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)
    return pattern, translations


def in_english(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines with known phrases of other languages replaced by English ones."""
    foreign = numbers_of(_may_be_foreign, lines)
    if not foreign:
        return lines
    pattern, translations = _phrases()
    translated = list(lines)
    for number in foreign:
        # French puts a no-break space before a colon.
        plain = lines[number].replace("\u00a0:", ":").replace("\u202f:", ":").replace("：", ": ")
        translated[number] = pattern.sub(lambda match: translations[match[0].lower()], plain)
    return translated


def _may_be_foreign(line: str) -> bool:
    return not line.isascii() or ASCII_PHRASE.search(line) is not None


# Phrases without a character outside ASCII begin with one of these words.
ASCII_PHRASE = re.compile(
    r"\b(?:nicht|kein|keine|Datei|Kein|Keine|Aucun|commande|orden|comando|Permiso|Arquivo|"
    r"Verbindung|Connexion|refuse|rechazada|Fehler|erreur|No existe|Ficheiro|fichier|Es ist|"
    r"attendu|obtenu|esperado|obtenido|obtido|erwartet|erhalten|ruta especificada)\b"
)
