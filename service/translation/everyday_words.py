"""Words that decide the language of a short text: greetings, and small closed classes of words.

N-grams of one or two words are too few: they take "Hallo" and "Was?" for English. Words of both languages,
such as "die", "so" and "September", are in neither list.
"""

from collections.abc import Mapping

_GERMAN = """
hallo moin servus grüezi guten morgen tag abend nacht gute tschüss tschau wiedersehen danke bitte gern
geschehen entschuldigung verzeihung prost gesundheit willkommen ja nein doch vielleicht genau achtung
vorsicht hilfe was wo wer wann warum wie wohin woher wieso welche welcher welches wem wen
ich du er sie es wir ihr mich dich ihn uns euch mein dein sein unser euer kein keine
und oder aber nicht auch noch schon heute gestern jetzt immer nie hier dort links rechts oben unten
eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf hundert tausend
montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli oktober
dezember rot blau grün gelb schwarz weiß braun grau vater mutter bruder schwester sohn tochter
"""
_ENGLISH = """
hello hi hey good morning afternoon evening night goodbye bye see you later soon thanks thank please
welcome sorry excuse cheers yes maybe okay help careful what where who when why how which whose whom
i you he she we they him us them my your our their
and or but not still already today tomorrow yesterday now always never here there left right
zero one two three four five six seven eight nine ten eleven twelve hundred thousand
monday tuesday wednesday thursday friday saturday sunday january february march may june july october
december red blue green yellow black white brown grey gray father mother brother sister child daughter
"""
EVERYDAY_WORDS: Mapping[str, frozenset[str]] = {
    "de": frozenset(_GERMAN.split()),
    "en": frozenset(_ENGLISH.split()),
}
"""Words in lower case, by language."""
