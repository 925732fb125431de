/** Texts of the interface: English, or German if the browser prefers it. */

const GERMAN: Record<string, string> = {
  "Page": "Seite",
  "API key": "API-Schlüssel",
  "Dark": "Dunkel",
  "Languages": "Sprachen",
  "Language of the text": "Sprache des Textes",
  "Language of the translation": "Sprache der Übersetzung",
  "Swap languages": "Sprachen tauschen",
  "Text": "Text",
  "Text to translate": "Text zum Übersetzen",
  "Type or paste a text": "Text eingeben oder einfügen",
  "Clear": "Löschen",
  "Translation": "Übersetzung",
  "Use the arrow keys to move from word to word, and Enter to see other words.":
    "Mit den Pfeiltasten von Wort zu Wort, mit der Eingabetaste zu anderen Wörtern.",
  "Try now": "Jetzt versuchen",
  "Underline sentences that the model is less sure of": "Sätze unterstreichen, bei denen das Modell unsicher ist",
  "Show confidence": "Sicherheit zeigen",
  "Confidence {percent} %": "Sicherheit {percent} %",
  "below 70 %": "unter 70 %",
  "below 50 %": "unter 50 %",
  "Form of address": "Anrede",
  "automatic": "automatisch",
  "informal": "vertraut",
  "formal": "förmlich",
  "Glossary": "Glossar",
  "none": "keines",
  "Share": "Teilen",
  "Copy": "Kopieren",
  "Documents": "Dokumente",
  "Choose files": "Dateien wählen",
  "or drop them here:": "oder hier ablegen:",
  "Word, PowerPoint, Excel, EPUB, subtitles, HTML …": "Word, PowerPoint, Excel, EPUB, Untertitel, HTML …",
  "All formats": "Alle Formate",
  "History": "Verlauf",
  "Kept in this browser only.": "Nur in diesem Browser gespeichert.",
  "Clear history": "Verlauf löschen",
  "Other words and sentences": "Andere Wörter und Sätze",
  "Key": "Schlüssel",
  "Remember it in this browser": "In diesem Browser merken",
  "It is sent to this server only.": "Er wird nur an diesen Server gesendet.",
  "Cancel": "Abbrechen",
  "Use key": "Verwenden",
  "This server needs an API key.": "Dieser Server verlangt einen API-Schlüssel.",
  "Detect language": "Sprache erkennen",
  "{language} (detected)": "{language} (erkannt)",
  "The text is already in {language}.": "Der Text ist schon auf {language}.",
  "The text is in {language}; the target is now {target}.": "Der Text ist auf {language}; das Ziel ist jetzt {target}.",
  "A sentence reached the length limit, so its translation may be incomplete.":
    "Ein Satz hat die Längengrenze erreicht; seine Übersetzung kann unvollständig sein.",
  "Some text is in a script that the model does not know; it is unchanged.":
    "Ein Teil des Textes ist in einer Schrift, die das Modell nicht kennt; er ist unverändert.",
  "Translated.": "Übersetzt.",
  "The translation is copied.": "Die Übersetzung ist kopiert.",
  "A link to this page with your text is copied.": "Ein Link auf diese Seite mit Ihrem Text ist kopiert.",
  "The browser does not allow copying.": "Der Browser erlaubt das Kopieren nicht.",
  "The server cannot be reached.": "Der Server ist nicht erreichbar.",
  "Uploading…": "Wird hochgeladen …",
  "Waiting…": "Wartet …",
  "Done.": "Fertig.",
  "Done: {language} → {target}.": "Fertig: {language} → {target}.",
  "Cancelled.": "Abgebrochen.",
  "Download": "Herunterladen",
  "Remove": "Entfernen",
  "This format is not supported.": "Format nicht unterstützt.",
  "The file is too large: the limit is {size} MiB.": "Die Datei ist zu groß: Die Grenze ist {size} MiB.",
  "{text} Trying again in {seconds} s.": "{text} Neuer Versuch in {seconds} s.",
  "{text} Trying again.": "{text} Neuer Versuch läuft.",
  "{percent} %, {time} left": "{percent} %, noch {time}",
  "Done, but {count} texts could not be translated and are unchanged.":
    "Fertig, aber {count} Texte konnten nicht übersetzt werden und sind unverändert.",
  "Progress of {name}": "Fortschritt von {name}",
  "Download the translation of {name}": "Übersetzung von {name} herunterladen",
  "Remove {name}": "{name} entfernen",
  "Looking for other words…": "Andere Wörter werden gesucht …",
  "Other words are available only where one model translates directly.":
    "Andere Wörter gibt es nur, wo ein einziges Modell übersetzt.",
  "There are no other words here.": "Hier gibt es keine anderen Wörter.",
  "{count} other words and sentences": "{count} andere Wörter und Sätze",
  "The sentence has changed.": "Der Satz ist geändert.",
  "The text seems to be {language}, not {source}.": "Der Text scheint {language} zu sein, nicht {source}.",
  "Translate from {language}": "Aus: {language}",
  "Enter a key": "Schlüssel eingeben",
  "{word}. Press Enter for other words.": "{word}. Andere Wörter mit der Eingabetaste.",
  "The text seems to be {language}, which this server does not translate. Its operator finds models with: {command}":
    "Der Text scheint auf {language} zu sein; das übersetzt dieser Server nicht. Wer ihn betreibt, findet Modelle mit: {command}",
};
/** What the server's errors mean, by their type. Its own words are in English. */
const GERMAN_ERRORS: Record<string, string> = {
  unauthenticated: "Dieser API-Schlüssel gilt nicht.",
  forbidden: "Das ist mit diesem API-Schlüssel oder auf diesem Server nicht erlaubt.",
  not_found: "Das gibt es auf dem Server nicht oder nicht mehr.",
  too_large: "Der Text oder die Datei ist zu groß.",
  invalid_input: "Das kann der Server nicht übersetzen.",
  rate_limited: "Zu viele Anfragen.",
  quota_exceeded: "Das Kontingent des API-Schlüssels ist verbraucht.",
  overloaded: "Der Server ist ausgelastet.",
  no_room: "Der Server hat keinen Platz mehr.",
  store_unavailable: "Der Speicher des Servers ist nicht erreichbar.",
  not_ready: "Der Server startet oder endet gerade.",
  timeout: "Die Übersetzung hat zu lange gedauert.",
};
const NOT_SERVED = /seems to be ([^,]+), which is not served.*`(dragoman import [^`]+)`/s;
const OFTEN = ["fr", "es", "it", "pt", "nl", "pl", "sv", "da", "nb", "cs", "tr", "ro", "hu", "fi"];
const ATTRIBUTES = ["aria-label", "title", "placeholder", "data-placeholder"];

/** Language of the interface. */
export const INTERFACE = navigator.language.toLowerCase().startsWith("de") ? "de" : "en";

/** Return a text of the interface in its language, with values in place of `{name}`. */
export function translated(text: string, values: Record<string, string> = {}): string {
  const found = INTERFACE === "de" ? (GERMAN[text] ?? text) : text;
  return found.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}

/** Return an error of the server as a sentence in the language of the interface. */
export function errorSentence(type: string, message: string): string {
  const [, language, command] = NOT_SERVED.exec(message) ?? [];
  if (language && command) {
    const text = "The text seems to be {language}, which this server does not translate. Its operator finds models with: {command}";
    return translated(text, { language: ownName(language), command });
  }
  if (INTERFACE === "de") return GERMAN_ERRORS[type] ?? "Der Server hat einen Fehler gemeldet.";
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function ownName(english: string): string {
  const names = (language: string) => new Intl.DisplayNames([language], { type: "language" });
  const code = OFTEN.find((each) => names("en").of(each)?.includes(english));
  return (code && names(INTERFACE).of(code)) ?? english;
}

/** Put the page's own texts into the language of the interface. */
export function translateInterface(): void {
  if (INTERFACE === "en") return;
  document.documentElement.lang = INTERFACE;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.nodeValue?.trim() ?? "";
    if (text) node.nodeValue = (node.nodeValue ?? "").replace(text, () => translated(text));
  }
  for (const name of ATTRIBUTES) {
    for (const each of document.querySelectorAll(`[${name}]`)) each.setAttribute(name, translated(each.getAttribute(name) ?? ""));
  }
}
