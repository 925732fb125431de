/** Earlier translations, kept in this browser only. */
import { button, byId, element } from "./dom";
import { nameOf } from "./languages";
import { load, save } from "./stored";

const MAX_ENTRIES = 50;
const MAX_TEXT_LENGTH = 5000;
const NAME = "history";

export interface HistoryEntry {
  text: string;
  translation: string;
  source: string;
  target: string;
}

export class History {
  private entries: HistoryEntry[] = read();
  private readonly list = byId("history-entries", HTMLElement);

  constructor(private readonly onChosen: (entry: HistoryEntry) => void) {
    byId("clear-history", HTMLButtonElement).addEventListener("click", () => {
      this.entries = [];
      this.store();
      byId("history", HTMLDetailsElement).querySelector("summary")?.focus();
    });
    this.render();
  }

  /** Add a translation. It replaces the latest one if the text is that one, typed further or shortened. */
  add(entry: HistoryEntry): void {
    if (entry.text.length > MAX_TEXT_LENGTH) return;
    this.entries = this.entries.filter(
      (other, position) => other.text !== entry.text && !(position === 0 && isContinued(other.text, entry.text)),
    );
    this.entries = [entry, ...this.entries].slice(0, MAX_ENTRIES);
    this.store();
  }

  private store(): void {
    save(NAME, this.entries.length ? JSON.stringify(this.entries) : null);
    this.render();
  }

  private render(): void {
    byId("history", HTMLElement).hidden = this.entries.length === 0;
    this.list.replaceChildren(
      ...this.entries.map((entry) => {
        const item = button("", "entry", () => this.onChosen(entry));
        item.append(
          element("span", { class: "pair" }, `${nameOf(entry.source)} → ${nameOf(entry.target)}`),
          element("span", { dir: "auto", lang: entry.source }, entry.text),
          element("span", { dir: "auto", lang: entry.target }, entry.translation),
        );
        return element("li", {}, item);
      }),
    );
  }
}

function isContinued(one: string, other: string): boolean {
  return one.startsWith(other) || other.startsWith(one);
}

function read(): HistoryEntry[] {
  try {
    const stored: unknown = JSON.parse(load(NAME) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isEntry) : [];
  } catch {
    return [];
  }
}

function isEntry(value: unknown): value is HistoryEntry {
  if (typeof value !== "object" || value === null) return false;
  return ["text", "translation", "source", "target"].every((name) => typeof Reflect.get(value, name) === "string");
}
