/** Other words in place of one of the translation: the server continues the words before it in other ways. */
import { isAbort, messageOf, sendForJson } from "./api";
import { announce, button, byId, element } from "./dom";
import type { Word } from "./output";
import { translated } from "./strings";
import { replacedSegment, tokensBefore, type Segment, type Translation, type TranslateResponse } from "./translations";

const NUM_HYPOTHESES = 16;
const MAX_SHOWN = 8;
/**
 * How many tokens the server continues the prefix with. Short hypotheses differ most in their first words; words of many
 * tokens need longer ones.
 */
const LOOK_AHEAD_TOKENS = [4, 9];
const ENOUGH_WORDS = 3;

export class Alternatives {
  private readonly panel = byId("alternatives", HTMLElement);
  private running = new AbortController();

  /**
   * Args:
   *   onChosen: gets a segment, and the one to show in its place.
   */
  constructor(private readonly onChosen: (previous: Segment, segment: Segment) => void) {
    this.panel.addEventListener("keydown", (event) => this.onKey(event));
    this.panel.addEventListener("toggle", (event) => {
      if (event instanceof ToggleEvent && event.newState === "closed") this.running.abort();
    });
  }

  /** Show the alternatives for a word of a translation. */
  async show(word: Word, translation: Translation): Promise<void> {
    this.running.abort();
    this.running = new AbortController();
    const { signal } = this.running;
    this.open(word.node, translated("Looking for other words…"));
    const source = word.segment.source;
    if (source === null) {
      this.open(word.node, translated("Other words are available only where one model translates directly."));
      return;
    }
    const before = word.segment.text.slice(0, word.span[0]);
    const prefix = before.trimEnd();
    const options = {
      text: translation.text.slice(...source),
      source: translation.source,
      target: translation.target,
      formality: translation.formality,
      splitting: "off",
    };
    try {
      const words = new Set<string>();
      for (const lookAhead of LOOK_AHEAD_TOKENS) {
        const max_length = tokensBefore(word.segment, prefix.length) + lookAhead;
        const json = { ...options, target_prefix: prefix, beam_size: NUM_HYPOTHESES, num_hypotheses: NUM_HYPOTHESES, max_length };
        const { translations } = await sendForJson<TranslateResponse>("v1/translate", { signal, json });
        const texts = [translations[0].text, ...(translations[0].alternatives ?? []).map((other) => other.text)];
        for (const next of nextWords(texts, before, translation.target)) words.add(next);
        words.delete(word.node.textContent ?? "");
        if (words.size >= ENOUGH_WORDS) break;
      }
      this.list(word, [...words].slice(0, MAX_SHOWN), async (next) => {
        const chosen = before + next;
        const again = await sendForJson<TranslateResponse>("v1/translate", {
          // Only here: the few words looked ahead have no room for the terms of the whole sentence.
          json: { ...options, glossary: translation.glossary, target_prefix: chosen, return_alignment: true, return_tokens: true },
        });
        this.onChosen(word.segment, replacedSegment(word.segment, options.text, again.translations[0]));
      });
    } catch (error) {
      if (!isAbort(error)) this.open(word.node, messageOf(error));
    }
  }

  private list(word: Word, words: string[], choose: (next: string) => Promise<void>): void {
    if (!words.length) {
      this.open(word.node, translated("There are no other words here."));
      return;
    }
    const items = words.map((next) =>
      button(next, "item", () => {
        this.panel.hidePopover();
        choose(next).catch((error: unknown) => announce(messageOf(error)));
      }),
    );
    this.panel.replaceChildren(...items);
    this.place(word.node);
    items[0]?.focus();
    announce(translated("{count} other words", { count: String(words.length) }));
  }

  private open(anchor: HTMLElement, message: string): void {
    this.panel.replaceChildren(element("p", {}, message));
    this.panel.dir = anchor.closest<HTMLElement>("[dir]")?.dir ?? "ltr";
    this.panel.showPopover();
    this.place(anchor);
    announce(message);
  }

  private place(anchor: HTMLElement): void {
    const at = anchor.getBoundingClientRect();
    const { width, height } = this.panel.getBoundingClientRect();
    const margin = 8;
    const left = Math.max(margin, Math.min(at.left, innerWidth - width - margin));
    const below = at.bottom + 4;
    this.panel.style.left = `${left}px`;
    this.panel.style.top = `${below + height < innerHeight ? below : Math.max(margin, at.top - height - 4)}px`;
  }

  private onKey(event: KeyboardEvent): void {
    const items = [...this.panel.querySelectorAll<HTMLButtonElement>("button")];
    const at = items.findIndex((item) => item === document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || !items.length) return;
    items[(at + step + items.length) % items.length]?.focus();
    event.preventDefault();
  }
}

/** Return the words that follow a prefix in some hypotheses, each once, in their order. */
export function nextWords(texts: string[], prefix: string, language: string): string[] {
  const segmenter = new Intl.Segmenter(language.replaceAll("_", "-"), { granularity: "word" });
  const words = new Set<string>();
  for (const text of texts) {
    if (!text.startsWith(prefix)) continue;
    const rest = text.slice(prefix.length);
    const word = [...segmenter.segment(rest)].find((part) => part.isWordLike);
    if (!word) continue;
    const end = word.index + word.segment.length;
    // A word at the end of a hypothesis may be cut at the length limit, as "isn" or "isn'".
    if (/^[\p{L}\s.,;:!?…"”»)]/u.test(rest.slice(end))) words.add(rest.slice(0, end));
  }
  return [...words];
}
