/** The page for translating texts and documents. */
import { ServerError, Unreachable, apiKey, messageOf } from "./api";
import { Alternatives } from "./alternatives";
import { announce, byId } from "./dom";
import { restoreDocuments, setUpDocuments, type LanguageChoice } from "./documents";
import { fillGlossaryMenu, fittingGlossaries, loadGlossaries, type Glossary } from "./glossaries";
import { History, type HistoryEntry } from "./history";
import { setUpKeyDialog } from "./key";
import { DETECT, chooseLanguage, directionOf, fillMenu, hasPair, loadLanguages, nameOf, targetsOf, type Pairs } from "./languages";
import { LiveTranslator } from "./live";
import { Output } from "./output";
import { addressOf, clearAddress, copy, readAddress } from "./share";
import { SourceField } from "./source";
import { load, save } from "./stored";
import { INTERFACE, translated, translateInterface } from "./strings";
import { setUpTheme } from "./theme";
import { textOf, type Segment, type Translation } from "./translations";

const HISTORY_PAUSE_MS = 2000;
/** Part of the longest text from which the count is shown. */
const NEAR_LIMIT = 0.8;
const RETRY_LANGUAGES_MS = 3000;

/** What the server says about itself in the page's head; null where it is off. */
interface ServerOptions {
  detects_languages: boolean;
  max_characters: number;
  documents: { suffixes: string[]; max_bytes: number } | null;
}

const options = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name="server-options"]')?.content ?? "{}",
) as ServerOptions;
const sourceMenu = byId("source-language", HTMLSelectElement);
const targetMenu = byId("target-language", HTMLSelectElement);
const swapButton = byId("swap", HTMLButtonElement);
const formalityMenu = byId("formality", HTMLSelectElement);
const glossaryMenu = byId("glossary", HTMLSelectElement);
const outputNode = byId("output", HTMLElement);
const notice = byId("notice", HTMLElement);
const actionButton = byId("notice-action", HTMLButtonElement);

/** A button in the notice. */
interface Action {
  label: string;
  run(): void;
}
const RETRY: Action = { label: translated("Try now"), run: () => (pairs.size ? live.retry() : void start()) };
const ENTER_KEY: Action = { label: translated("Enter a key"), run: () => openKeyDialog("") };
let action: Action | null = null;

const openKeyDialog = setUpKeyDialog(
  () => void start(),
  () => {
    if (pairs.size === 0) showNotice(translated("This server needs an API key."), { action: ENTER_KEY });
  },
);

let pairs: Pairs = new Map();
let withFormality: Pairs = new Map();
let glossaries: Glossary[] = [];
let translation: Translation | null = null;
let historyTimer = 0;
let startTimer = 0;

const field = new SourceField(byId("source", HTMLTextAreaElement), byId("mirror", HTMLElement), {
  onInput: () => update(),
  onCursor: (position) => output.markSource(position),
});
const output = new Output(outputNode, {
  onAligned: (spans) => field.mark(translation?.text === field.text ? spans : []),
  onWordChosen: (word) => {
    if (translation) void alternatives.show(word, translation);
  },
});
const alternatives = new Alternatives((previous, segment) => {
  const number = translation?.segments.indexOf(previous) ?? -1;
  if (!translation || number < 0) return; // another text was translated meanwhile
  translation.segments[number] = segment;
  output.show(translation);
  outputNode.focus();
  announce(translated("The sentence has changed."));
  remember();
});
const live = new LiveTranslator({
  onBusy: (isBusy) => {
    outputNode.setAttribute("aria-busy", String(isBusy));
    byId("busy", HTMLElement).hidden = !isBusy;
  },
  onSegments: (segments: Segment[]) => {
    showNotice("");
    outputNode.classList.remove("stale");
    output.showPartial(segments, targetMenu.value);
  },
  onDone: (done: Translation) => {
    translation = done;
    output.show(done);
    outputNode.classList.remove("stale");
    showDetected(done.detected);
    if (switchTarget(done)) return;
    showNotice(noticeOf(done), { action: languageAction(done) });
    setActions(true);
    announce(translated("Translated."));
    clearTimeout(historyTimer);
    historyTimer = setTimeout(remember, HISTORY_PAUSE_MS);
  },
  onError: (error, retryInS) => {
    clearTranslation();
    if (needsKey(error)) {
      openKeyDialog(keyMessage(error));
      showNotice("");
      return;
    }
    showError(error, retryInS === null ? "" : translated("{text} Trying again in {seconds} s.", { text: error.message, seconds: String(retryInS) }));
  },
});
const history = new History((entry) => restore(entry));

function needsKey(error: unknown): error is ServerError {
  return error instanceof ServerError && error.status === 401;
}

/** The server's words only if a key was sent: nothing is wrong before. */
function keyMessage(error: ServerError): string {
  return apiKey() === null ? translated("This server needs an API key.") : error.message;
}

/** Translate a text that is in the target language already into another one, as far as the server can. */
function switchTarget(done: Translation): boolean {
  if (done.finishReason !== "copied" || done.detected !== done.target || sourceMenu.value !== DETECT) return false;
  const other = switched(choices());
  if (other === null) return false;
  targetMenu.value = other.target;
  onLanguages(0);
  const values = { language: nameOf(done.target), target: nameOf(other.target) };
  announce(translated("The text is in {language}; the target is now {target}.", values));
  return true;
}

/** Return the languages for what is in the target language already; null if the server has no other target for it. */
function switched({ target, glossary }: LanguageChoice): LanguageChoice | null {
  const other = pairs.get(target)?.find((each) => each !== target);
  if (other === undefined) return null;
  const isFitting = fittingGlossaries(glossaries, target, other).some(({ id }) => id === glossary);
  return { source: target, target: other, glossary: isFitting ? glossary : null };
}

/** Translate what the field has now; called on every change. */
function update(pauseS?: number): void {
  clearTimeout(historyTimer);
  clearAddress();
  save("text", field.text || null, "session");
  field.setLanguage(sourceMenu.value);
  byId("count", HTMLElement).textContent = countOf(field.text);
  byId("clear", HTMLButtonElement).hidden = field.text === "";
  setActions(false);
  outputNode.classList.add("stale");
  if (!field.text.trim() || !targetMenu.value) {
    live.translate(null);
    clearTranslation();
    showNotice("");
    return;
  }
  const formality = (hasFormality() && formalityMenu.value) || null;
  const { source, target, glossary } = choices();
  live.translate({ text: field.text, source, target, formality, glossary }, pauseS);
}

/** Show no translation: neither one of another text, nor its language. */
function clearTranslation(): void {
  translation = null;
  output.clear();
  showDetected(null);
}

function choices(): LanguageChoice {
  return { source: sourceMenu.value || null, target: targetMenu.value, glossary: glossaryMenu.value || null };
}

function hasFormality(): boolean {
  return targetsOf(withFormality, sourceMenu.value).includes(targetMenu.value);
}

/** Return how many characters a text has, if it nears the limit. */
function countOf(text: string): string {
  let count = 0;
  for (const _ of text) count += 1;
  if (count < NEAR_LIMIT * options.max_characters) return "";
  return `${count.toLocaleString(INTERFACE)} / ${options.max_characters.toLocaleString(INTERFACE)}`;
}

function noticeOf(done: Translation): string {
  if (done.finishReason === "length") return translated("A sentence reached the length limit, so its translation may be incomplete.");
  if (done.finishReason === "unsupported") return translated("Some text is in a script that the model does not know; it is unchanged.");
  if (done.finishReason === "copied" && done.detected === done.target) {
    return translated("The text is already in {language}.", { language: nameOf(done.target) });
  }
  if (isInOtherLanguage(done)) {
    return translated("The text seems to be {language}, not {source}.", { language: nameOf(done.detected), source: nameOf(done.source) });
  }
  return "";
}

/** Whether the server is certain that the text is in another language than the chosen one. */
function isInOtherLanguage(done: Translation): done is Translation & { detected: string } {
  return sourceMenu.value !== DETECT && done.detected !== null && done.detected !== done.source;
}

/** Offer to translate from the language that the text is in, if the server can. */
function languageAction(done: Translation): Action | null {
  if (!isInOtherLanguage(done)) return null;
  const language = done.detected;
  const targets = targetsOf(pairs, language);
  const target = targets.includes(done.target) ? done.target : targets[0];
  if (target === undefined) return null;
  const run = () => {
    choose(language, target);
    onLanguages(0);
  };
  return { label: translated("Translate from {language}", { language: nameOf(language) }), run };
}

interface NoticeOptions {
  isError?: boolean;
  action?: Action | null;
  detail?: string;
}

function showNotice(message: string, { isError = false, action: offered = null, detail = "" }: NoticeOptions = {}): void {
  notice.title = detail;
  if (notice.textContent !== message) notice.textContent = message;
  byId("notice-box", HTMLElement).hidden = message === "";
  byId("notice-box", HTMLElement).classList.toggle("error", isError);
  action = offered;
  actionButton.hidden = offered === null;
  actionButton.textContent = offered?.label ?? "";
}

/** Show an error, the server's own words as a title, and a button where the same request may succeed. */
function showError(error: unknown, message: string): void {
  const detail = error instanceof ServerError ? error.detail : "";
  const isRejected = error instanceof ServerError && error.status < 500 && !error.isTemporary;
  showNotice(message || messageOf(error), { isError: true, action: isRejected ? null : RETRY, detail });
}

function setActions(hasTranslation: boolean): void {
  byId("copy", HTMLButtonElement).disabled = !hasTranslation;
  byId("share", HTMLButtonElement).disabled = field.text === "";
}

function showDetected(code: string | null): void {
  const [option] = sourceMenu.options;
  if (option?.value !== DETECT) return;
  const isKnown = code !== null && code !== "und" && sourceMenu.value === DETECT;
  option.textContent = isKnown ? translated("{language} (detected)", { language: nameOf(code) }) : translated("Detect language");
  if (isKnown) field.setLanguage(code);
  setSwap();
}

/** The language that the text is in, if it is known. */
function currentSource(): string {
  return sourceMenu.value || (translation?.detected ?? "");
}

function setSwap(): void {
  swapButton.disabled = !hasPair(pairs, targetMenu.value, currentSource());
}

function onLanguages(pauseS?: number): void {
  fillMenu(targetMenu, targetsOf(pairs, sourceMenu.value), null);
  outputNode.dir = directionOf(targetMenu.value);
  byId("formality-choice", HTMLElement).hidden = !hasFormality();
  nameFormality();
  fillGlossaryMenu(glossaryMenu, glossaries, sourceMenu.value, targetMenu.value);
  byId("glossary-choice", HTMLElement).hidden = glossaryMenu.options.length < 2;
  save("source", sourceMenu.value);
  save("target", targetMenu.value);
  translation = null;
  setSwap();
  update(pauseS);
}

/** Name the forms of address as the target language does. */
function nameFormality(): void {
  const isGerman = targetMenu.value.split(/[-_]/)[0] === "de";
  const names = isGerman ? ["du", "Sie"] : [translated("informal"), translated("formal")];
  names.forEach((name, position) => {
    const option = formalityMenu.options[position + 1];
    if (option) option.textContent = name;
  });
}

function choose(source: string | null, target: string | null): void {
  chooseLanguage(sourceMenu, source ?? DETECT);
  fillMenu(targetMenu, targetsOf(pairs, sourceMenu.value), null);
  chooseLanguage(targetMenu, target ?? targetMenu.value);
}

function swap(): void {
  const [source, target] = [targetMenu.value, currentSource()];
  const text = translation ? textOf(translation.segments, translation.end) : field.text;
  choose(source, target);
  field.text = text;
  onLanguages(0);
}

function restore(entry: HistoryEntry): void {
  choose(entry.source, entry.target);
  field.text = entry.text;
  onLanguages(0);
  field.focus();
}

function remember(): void {
  if (!translation || translation.source === "und" || ["copied", "unsupported"].includes(translation.finishReason)) return;
  const { text, segments, end, source, target } = translation;
  history.add({ text, translation: textOf(segments, end), source, target });
}

/** Load the languages, again and again while the server is away; then translate what the address asks for. */
async function start(): Promise<void> {
  clearTimeout(startTimer);
  try {
    [{ pairs, withFormality }, glossaries] = await Promise.all([loadLanguages(), loadGlossaries()]);
  } catch (error) {
    if (needsKey(error)) {
      openKeyDialog(keyMessage(error));
      showNotice("");
      return;
    }
    const isTemporary = error instanceof Unreachable || (error instanceof ServerError && error.isTemporary);
    showError(error, isTemporary ? translated("{text} Trying again.", { text: messageOf(error) }) : "");
    if (isTemporary) startTimer = setTimeout(() => void start(), RETRY_LANGUAGES_MS);
    return;
  }
  showNotice("");
  fillMenu(sourceMenu, pairs.keys(), options.detects_languages ? translated("Detect language") : null);
  const given = readAddress();
  choose(given ? given.source : load("source"), given?.target ?? load("target"));
  field.text ||= given?.text ?? load("text", "session") ?? "";
  onLanguages(given ? 0 : undefined);
  if (options.documents) await restoreDocuments();
}

function setUpActions(): void {
  sourceMenu.addEventListener("change", () => onLanguages(0));
  targetMenu.addEventListener("change", () => onLanguages(0));
  swapButton.addEventListener("click", swap);
  actionButton.addEventListener("click", () => action?.run());
  byId("clear", HTMLButtonElement).addEventListener("click", () => {
    field.text = "";
    update();
    field.focus();
  });
  byId("copy", HTMLButtonElement).addEventListener("click", () => {
    if (translation) void report(copy(textOf(translation.segments, translation.end)), translated("The translation is copied."));
  });
  byId("share", HTMLButtonElement).addEventListener("click", () => {
    const address = addressOf(field.text, sourceMenu.value, targetMenu.value);
    window.history.replaceState(null, "", address);
    void report(copy(address), translated("A link to this page with your text is copied."));
  });
  formalityMenu.value = load("formality") ?? "";
  if (formalityMenu.selectedIndex < 0) formalityMenu.selectedIndex = 0;
  formalityMenu.addEventListener("change", () => {
    save("formality", formalityMenu.value || null);
    update(0);
  });
  glossaryMenu.addEventListener("change", () => update(0));
  const shading = byId("shading", HTMLInputElement);
  shading.addEventListener("change", () => {
    document.body.classList.toggle("shaded", shading.checked);
    save("shading", shading.checked ? "on" : null);
  });
  shading.checked = load("shading") === "on";
  document.body.classList.toggle("shaded", shading.checked);
  addEventListener("hashchange", () => {
    field.text = readAddress()?.text ?? field.text;
    void start();
  });
}

async function report(copied: Promise<boolean>, message: string): Promise<void> {
  const text = (await copied) ? message : translated("The browser does not allow copying.");
  announce(text);
  const toast = byId("toast", HTMLElement);
  toast.textContent = text;
  toast.hidden = false;
  setTimeout(() => (toast.hidden = true), 3000);
}

translateInterface();
setUpTheme();
setUpActions();
if (options.documents) {
  const { suffixes, max_bytes: maxBytes } = options.documents;
  setUpDocuments({ suffixes, maxBytes }, choices, switched);
}
void start();
