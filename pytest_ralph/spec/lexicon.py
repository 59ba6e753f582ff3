"""spec room: the Lexicon, the words in which specs of several languages say what a command should do, in English.

Expectations are read in one language only (expectation.py); this is the table that brings the others there.
"""

from __future__ import annotations

import re
from functools import cache

# English on the left; what is said for it in German, Spanish, Portuguese, French, Italian, Russian, Chinese, Japanese.
_SAYINGS: dict[str, str] = {
    "does not contain": """
        enthält nicht|enthält keine?n?|no contiene|no incluye|não contém|nao contem|ne contient pas|non contiene|не содержит
        |não contenha|no debe contener|não deve conter|ne doit pas contenir|不包含|不含|不出现|不應包含|を含まない|が含まれない""",
    "contains": "enthält|enthalten|contener|conter|contenir|contiene|incluye|contém|contem|contient|inclut|содержит|包含|含有|を含む|が含まれる",
    "returns nothing": """
        gibt nichts (?:zurück|aus)|liefert nichts|keine ausgabe|ohne ausgabe|keine treffer|keine ergebnisse|ist leer|sind leer
        |no devuelve nada|no muestra nada|no imprime nada|devuelve vac[ií]o|está vac[ií]o|sin salida|sin resultados
        |sin coincidencias|ningún resultado|ninguna coincidencia
        |não retorna nada|não imprime nada|retorna vazio|está vazio|sem saída|sem resultados|nenhum resultado
        |nenhuma ocorrência|nenhuma correspondência
        |ne renvoie rien|n'affiche rien|ne retourne rien|aucune sortie|aucun résultat|aucune correspondance|est vide
        |non restituisce nulla|nessun output|nessun risultato|nessuna corrispondenza|è vuoto
        |ничего не (?:выводит|возвращает|находит)|пустой вывод|пусто|нет совпадений|нет результатов|без вывода|нет вывода
        |无输出|無輸出|没有输出|沒有輸出|输出为空|返回空|结果为空|为空|無結果|无结果|没有结果|无匹配|没有匹配|沒有匹配|空输出
        |何も(?:出力|表示|返|返さ)(?:しない|されない|さない|ない)|出力なし|出力がない|空である|空を返す|一致なし|ヒットなし""",
    "non-zero": """
        ungleich null|ungleich 0|nicht null|distinto de (?:cero|0)|diferente de (?:cero|zero|0)|no cero|não zero
        |différent de (?:zéro|0)|non nul|diverso da (?:zero|0)|ненулевой|ненулевым|не ноль|не 0|非零|非 ?0|不为 ?0|0 ?以外|ゼロ以外""",
    "exit code": """
        exit-?code|rückgabewert|rückgabecode|beendigungscode|código de (?:salida|retorno|saída|erro)|codigo de (?:salida|saida)
        |code de (?:sortie|retour)|codice di (?:uscita|ritorno)|код(?:ом|а)? (?:выхода|возврата|завершения)
        |(?:退出码|退出碼|退出代码|返回码|返回碼)(?:为|為|是|等于)?|(?:終了コード|終了ステータス|exit ?コード)(?:が|は)?""",
    "exits with": """
        (?:endet|beendet sich|terminiert) mit(?: code)?|(?:sale|termina|finaliza) con(?: el)?(?: c[oó]digo(?: de salida)?)?
        |(?:sai|termina|encerra) com(?: c[oó]digo(?: de saída)?)?|(?:se termine|sort) avec(?: le code)?|esce con(?: codice)?
        |(?:завершается|выходит) с(?! ошибкой)(?: кодом)?""",
    "fails": """
        schlägt fehl|fallar|falhar|échouer|упасть|muss fehlschlagen|sollte fehlschlagen|scheitert|falla|debe fallar|falha|deve falhar|échoue|doit échouer
        |fallisce|deve fallire|завершается с ошибкой|падает|должен упасть|должна упасть|失败|失敗する|失敗""",
    "at least": """
        mindestens|wenigstens|al menos|por lo menos|como mínimo|como minimo|pelo menos|no mínimo|no minimo|ao menos|au moins
        |au minimum|almeno|не менее|не меньше|как минимум|хотя бы|минимум|至少|不少于|不少於|大于等于|大於等於|少なくとも|最低""",
    "at most": """
        höchstens|maximal|como máximo|como maximo|no más de|no máximo|no maximo|não mais que|au plus|au maximum|al massimo
        |не более|не больше|максимум|不超过|不超過|最多|小于等于|多くとも|最大""",
    "more than": "mehr als|größer als|más de|mayor que|mayor a|mais de|maior que|plus de|più di|больше|более|大于|大於|超过|超過",
    "less than": "weniger als|kleiner als|menos de|menor que|menor a|moins de|meno di|меньше|менее|小于|小於|少于|少於|未满",
    "exactly": "genau|exactamente|exatamente|exactement|esattamente|ровно|в точности|正好|恰好|刚好|ちょうど",
    "returns": """
        gibt|liefert|ergibt|zurückgeben|liefern|ergeben|devolver|retornar|renvoyer|retourner|вернуть|devuelve|retorna|regresa|devolve|renvoie|retourne|donne|restituisce|возвращает|вернёт|вернет|должен вернуть
        |返回|得到|结果为|結果為|应为|應為|等于|等於|返す""",
    "prints": "imprime|imprimir|ausgeben|вывести|druckt|stampa|выводит|выдаёт|выдает|печатает|输出|輸出|打印|出力する|出力",
    "shows": "zeigt|zeigen|mostrar|exibir|afficher|показать|muestra|mostra|exibe|affiche|montre|показывает|显示|顯示|表示する|表示",
    "lines": "zeilen|líneas|lineas|linhas|lignes|righe|строк(?:и|а)?|行",
    "files": "dateien|archivos|ficheros|arquivos|ficheiros|fichiers|файл(?:ов|а|ы)?|个文件|個文件|ファイル",
    "matches": "treffer|coincidencias|ocurrencias|ocorrências|correspondances|occurrences|corrispondenze|совпадени(?:й|я|е)|个匹配|匹配|件",
    "results": "ergebnisse|resultados|résultats|risultati|результат(?:ов|а)?|个结果|结果|結果",
    "should": "debe|deben|deve|devem|doit|doivent|soll|sollte|muss|müssen|dovrebbe|должен|должна|должно|应该|應該|应当|应|べき",
    "zero": "null treffer|cero|zéro|ноль|нуль|нулевым|нулевой",
    "passes": "läuft durch|besteht|ist grün|pasa|pasan|passa|passam|passe|passent|проходит|проходят|通过|通過|成功|成功する|パスする",
    "manual": "manuell|manuel(?:le)?(?:ment)?|вручную|手动|手動|人工|目視",
    "or": "oder|или|或者?|または|もしくは",
    "and": "und|sowie|и|并且|並且|以及|且|和|および|かつ",
}
# Where the verb comes last, the number or text it is said of is brought behind it.
_ORDER = (
    (re.compile(r"(\d+)\s*(?:件|行|個|つ)?\s*以上"), r" at least \1 "),
    (re.compile(r"(\d+)\s*(?:件|行|個|つ)?\s*以下"), r" at most \1 "),
    (
        re.compile(r"(`[^`\n]+`|\"[^\"\n]+\"|「[^」\n]+」|\d+)\s*(?:件|行)?\s*(?:を|が|と)\s*(?:返|出力|表示)\S*"),
        r" returns \1 ",
    ),
    (re.compile(r"не равен нулю"), " non-zero "),
)
_FULL_WIDTH = str.maketrans("，。；：（）“”「」＞＜＝０１２３４５６７８９", ',.;:()""""><=0123456789')
_OTHER_SCRIPT = re.compile("[\u0400-\u04ff\u3040-\u30ff\u4e00-\u9fff]")
# Words of the table that are English too: alone they are no sign of another language.
_ENGLISH = frozenset(
    """
    al as au code com como con da de di digo el er est exit ist le lo manuel maximal maximum ment minimum mit ne no
    non nul null occurrences output pas passe plus por que sale se sem sin sort termine vac zero
    """.split()
)
_LATIN_WORD = re.compile(r"[a-zà-ÿ]{2,}")


def in_english(text: str) -> str:
    """`text` with the words that matter for an expectation in English; the rest, and code spans, as they are."""
    if not _is_foreign(text):
        return text
    text = text.translate(_FULL_WIDTH)
    for pattern, order in _ORDER:
        text = pattern.sub(order, text)
    parts = re.split(r"(`[^`]*`|\"[^\"]*\")", text)
    pattern, english = _table()
    return "".join(
        part if index % 2 else re.sub(r"[ \t]+", " ", pattern.sub(lambda match: english[match.lastgroup or ""], part))
        for index, part in enumerate(parts)
    )


def _is_foreign(text: str) -> bool:
    if not text.isascii() and _OTHER_SCRIPT.search(text):
        return True
    return not _signs().isdisjoint(_LATIN_WORD.findall(text.lower()))


@cache
def _signs() -> frozenset[str]:
    """Words that only another language uses: seeing none of them saves the whole table."""
    return frozenset(_LATIN_WORD.findall(" ".join(_SAYINGS.values()))) - _ENGLISH


@cache
def _table() -> tuple[re.Pattern[str], dict[str, str]]:
    """One pattern for all sayings, longest first, and the English for each of its groups."""
    english: dict[str, str] = {}
    sayings: list[str] = []
    for meaning, row in _SAYINGS.items():
        for saying in re.split(r"\s*\|\s*(?![^()]*\))", row.strip()):
            group = f"g{len(english)}"
            english[group] = f" {meaning} "
            edge = r"(?<!\w){}(?!\w)" if ord(saying.lstrip("(?:")[0]) < 0x2E80 else "{}"
            sayings.append(edge.format(f"(?P<{group}>{saying})"))
    sayings.sort(key=len, reverse=True)
    return re.compile("|".join(sayings), re.IGNORECASE), english
