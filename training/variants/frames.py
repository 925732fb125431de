"""Templates of short lines: buttons, notices, lines of letters and messages.

A word between ⟨ and ⟩ is a slot; both sides get the same filling. Slots whose filling is copied stand where
no inflection depends on them.
"""

# ruff: noqa: RUF001 -- dashes as they are printed

import re
from random import Random

from training.variants.dates import WEEKDAYS, day_and_month, full_date, in_figures, weekday_and_date
from training.variants.drawing import Maker, Weighted, pick, words
from training.variants.formats import Bilingual, any_number, counted, percentage, price, time
from training.variants.things import (
    account,
    around,
    brace_placeholder,
    email,
    emoji,
    file_path,
    function,
    hash_code,
    identifier,
    ip_address,
    made_up_word,
    mention,
    percent_placeholder,
    phone,
    url,
    variable,
    version,
)

FIRST_NAMES = words("""
    Anna Ben Clara David Emma Felix Greta Hannah Ida Jan Julia Karl Laura Lena Leon Lisa Maria Max
    Mia Michael Nina Olga Oskar Paul Peter Robert Sarah Sofia Thomas Tim Tom Ali Aylin Chen Fatima
    Ivan Jamal Priya Yuki Zoe
""")
LAST_NAMES = words("""
    Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Koch Bauer Richter
    Klein Wolf Schröder Neumann Smith Jones Brown Taylor Wilson Evans Johnson Miller Davis Garcia
    Rossi Novak Nguyen
""")

_SLOT = re.compile("⟨([a-z]+)⟩")
_PLACEHOLDERS: Weighted[Maker[str]] = ((5, brace_placeholder), (3, percent_placeholder), (1, variable))

_FRAMES = """
Hallo ⟨person⟩, = Hello ⟨person⟩,
Hallo ⟨person⟩! = Hello ⟨person⟩!
Hi ⟨person⟩, = Hi ⟨person⟩,
Liebe Grüße, ⟨person⟩ = Best wishes, ⟨person⟩
Viele Grüße ⟨person⟩ = Best regards ⟨person⟩
Mit freundlichen Grüßen ⟨fullname⟩ = Yours sincerely ⟨fullname⟩
Sehr geehrter Herr ⟨lastname⟩, = Dear Mr ⟨lastname⟩,
Sehr geehrte Frau ⟨lastname⟩, = Dear Ms ⟨lastname⟩,
Sehr geehrte Damen und Herren, = Dear Sir or Madam,
Willkommen, ⟨person⟩! = Welcome, ⟨person⟩!
Danke, ⟨person⟩! ⟨emoji⟩ = Thank you, ⟨person⟩! ⟨emoji⟩
Siehe ⟨link⟩ = See ⟨link⟩
Siehe ⟨link⟩. = See ⟨link⟩.
Weitere Informationen: ⟨link⟩ = More information: ⟨link⟩
Weitere Informationen finden Sie unter ⟨link⟩. = You can find more information at ⟨link⟩.
Besuchen Sie ⟨link⟩ = Visit ⟨link⟩
Klicken Sie hier: ⟨link⟩ = Click here: ⟨link⟩
Kontakt: ⟨email⟩ = Contact: ⟨email⟩
E-Mail: ⟨email⟩ = Email: ⟨email⟩
Telefon: ⟨phone⟩ = Phone: ⟨phone⟩
Schreiben Sie an ⟨email⟩. = Write to ⟨email⟩.
Rufen Sie uns an: ⟨phone⟩ = Call us: ⟨phone⟩
Betreff: ⟨account⟩ = Subject: ⟨account⟩
Rechnungsnummer: ⟨account⟩ = Invoice number: ⟨account⟩
Bestellung ⟨account⟩ = Order ⟨account⟩
IBAN: ⟨account⟩ = IBAN: ⟨account⟩
Preis: ⟨price⟩ = Price: ⟨price⟩
Summe: ⟨price⟩ = Total: ⟨price⟩
Das kostet ⟨price⟩. = That costs ⟨price⟩.
Nur heute: ⟨percentage⟩ Rabatt! = Today only: ⟨percentage⟩ off!
Datum: ⟨date⟩ = Date: ⟨date⟩
Gültig bis ⟨fulldate⟩ = Valid until ⟨fulldate⟩
Wir sehen uns am ⟨shortdate⟩. = See you on ⟨shortdate⟩.
⟨weekdaydate⟩, ⟨time⟩ Uhr = ⟨weekdaydate⟩, ⟨time⟩
Um ⟨time⟩ Uhr = At ⟨time⟩
Beginn: ⟨time⟩ Uhr = Start: ⟨time⟩
Wir treffen uns um ⟨time⟩ Uhr. = We are meeting at ⟨time⟩.
Am ⟨weekday⟩ um ⟨time⟩ Uhr = On ⟨weekday⟩ at ⟨time⟩
Öffnungszeiten: ⟨time⟩ – ⟨time⟩ Uhr = Opening hours: ⟨time⟩ – ⟨time⟩
Noch ⟨counted⟩ = ⟨counted⟩ left
Vor ⟨placeholder⟩ Minuten = ⟨placeholder⟩ minutes ago
⟨placeholder⟩ Dateien ausgewählt = ⟨placeholder⟩ files selected
⟨placeholder⟩ von ⟨placeholder⟩ = ⟨placeholder⟩ of ⟨placeholder⟩
Seite ⟨placeholder⟩ von ⟨placeholder⟩ = Page ⟨placeholder⟩ of ⟨placeholder⟩
Seite ⟨number⟩ = Page ⟨number⟩
Kapitel ⟨number⟩ = Chapter ⟨number⟩
Version ⟨version⟩ ist verfügbar. = Version ⟨version⟩ is available.
Neu in ⟨version⟩ = New in ⟨version⟩
Version: ⟨version⟩ = Version: ⟨version⟩
Fehler ⟨number⟩: ⟨placeholder⟩ = Error ⟨number⟩: ⟨placeholder⟩
Die Datei ⟨file⟩ wurde nicht gefunden. = The file ⟨file⟩ was not found.
Datei nicht gefunden: ⟨file⟩ = File not found: ⟨file⟩
Datei „⟨file⟩“ löschen? = Delete file "⟨file⟩"?
Öffne ⟨file⟩ … = Opening ⟨file⟩ …
Gespeichert unter ⟨file⟩ = Saved to ⟨file⟩
Führen Sie ⟨code⟩ aus. = Run ⟨code⟩.
Fehler in ⟨code⟩ = Error in ⟨code⟩
Die Variable ⟨variable⟩ ist nicht gesetzt. = The variable ⟨variable⟩ is not set.
Verbindung zu ⟨address⟩ fehlgeschlagen = Connection to ⟨address⟩ failed
Prüfsumme: ⟨hash⟩ = Checksum: ⟨hash⟩
Folgen Sie uns: ⟨mention⟩ = Follow us: ⟨mention⟩
Foto von ⟨mention⟩ = Photo by ⟨mention⟩
Ihr Code lautet ⟨account⟩. = Your code is ⟨account⟩.
Angemeldet als ⟨person⟩ = Logged in as ⟨person⟩
⟨person⟩ hat Ihnen eine Nachricht geschickt. = ⟨person⟩ has sent you a message.
⟨person⟩ gefällt das. = ⟨person⟩ likes this.
Sie haben ⟨placeholder⟩ neue Nachrichten. = You have ⟨placeholder⟩ new messages.
Ich heiße ⟨person⟩. = My name is ⟨person⟩.
Drücken Sie ⟨marked⟩. = Press ⟨marked⟩.
Klicken Sie auf ⟨marked⟩. = Click on ⟨marked⟩.
Alles Gute zum Geburtstag, ⟨person⟩! ⟨emoji⟩ = Happy birthday, ⟨person⟩! ⟨emoji⟩
Guten Morgen! ⟨emoji⟩ = Good morning! ⟨emoji⟩
Bis bald! ⟨emoji⟩ = See you soon! ⟨emoji⟩
Super ⟨emoji⟩ = Great ⟨emoji⟩
"""
TEMPLATES = tuple(Bilingual(*line.split(" = ")) for line in _FRAMES.strip().splitlines())


def fill_template(rng: Random) -> Bilingual:
    """Fill the slots of a random template; the n-th slot of a kind gets the same thing on both sides."""
    frame = rng.choice(TEMPLATES)
    german, english = frame.german, frame.english
    for slot in _SLOT.findall(frame.german):
        filling = SLOTS[slot](rng)
        german = german.replace(f"⟨{slot}⟩", filling.german, 1)
        english = english.replace(f"⟨{slot}⟩", filling.english, 1)
    return Bilingual(german, english)


def person(rng: Random) -> Bilingual:
    """Make a first name, a placeholder or a mention."""
    kinds: Weighted[Maker[str]] = (
        (4, lambda rng: rng.choice(FIRST_NAMES)),
        (1, lambda rng: made_up_word(rng).capitalize()),
        (3, _placeholder),
        (1, mention),
    )
    return Bilingual.alike(pick(rng, kinds)(rng))


def _last_name(rng: Random) -> str:
    kinds: Weighted[Maker[str]] = ((3, lambda rng: rng.choice(LAST_NAMES)), (1, _placeholder))
    return pick(rng, kinds)(rng)


def _placeholder(rng: Random) -> str:
    return pick(rng, _PLACEHOLDERS)(rng)


def _marked(rng: Random) -> str:
    keys = ("OK", "Enter", "F1", "F5", "Tab", "Esc", "Alt", identifier(rng))
    return around(rng.choice(keys), rng)


def _alike(maker: Maker[str]) -> Maker[Bilingual]:
    return lambda rng: Bilingual.alike(maker(rng))


SLOTS: dict[str, Maker[Bilingual]] = {
    "person": person,
    "fullname": _alike(lambda rng: f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"),
    "lastname": _alike(_last_name),
    "placeholder": _alike(_placeholder),
    "marked": _alike(_marked),
    "link": _alike(url),
    "email": _alike(email),
    "phone": _alike(phone),
    "account": _alike(account),
    "file": _alike(file_path),
    "code": _alike(function),
    "variable": _alike(variable),
    "address": _alike(ip_address),
    "hash": _alike(hash_code),
    "mention": _alike(mention),
    "emoji": _alike(emoji),
    "version": _alike(version),
    "number": _alike(lambda rng: str(rng.randint(1, 999))),
    "amount": any_number,
    "counted": counted,
    "price": price,
    "percentage": percentage,
    "time": time,
    "date": in_figures,
    "fulldate": full_date,
    "shortdate": day_and_month,
    "weekdaydate": weekday_and_date,
    "weekday": lambda rng: rng.choice(WEEKDAYS),
}
