/** Other words in place of one of the translation, and other sentences that begin with the words before it. */
import { isAbort, messageOf, sendForJson } from "./api";
import { announce, button, byId, element } from "./dom";
import type { Word } from "./output";
import { translated } from "./strings";
import { replacedSegment, tokensBefore, type Segment, type Translation, type TranslateResponse } from "./translations";

const NUM_BEGINNINGS = 16;
const NUM_SENTENCES = 8;
const MAX_WORDS = 8;
const MAX_SENTENCES = 3;
/** How many tokens the server continues the prefix with: short hypotheses differ most in their first words. */
const LOOK_AHEAD_TOKENS = 9;
/** Part of the probability of all found words that a word has at least. */
const MIN_SHARE = 0.02;
/** By how much the score of a sentence, per token, may be lower than the best one's. */
const MAX_LOSS = 0.35;

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
    const search = { ...options, target_prefix: prefix, return_scores: true };
    const beginning = {
      ...beams(NUM_BEGINNINGS),
      max_length: tokensBefore(word.segment, prefix.length) + LOOK_AHEAD_TOKENS,
      length_penalty: 0, // so that scores are those of the whole beginning
    };
    try {
      const [beginnings, sentences] = await Promise.all([
        hypotheses({ ...search, ...beginning }, signal),
        // Only here: the few words looked ahead have no room for the terms of the whole sentence.
        hypotheses({ ...search, ...beams(NUM_SENTENCES), glossary: translation.glossary }, signal),
      ]);
      const words = otherWords(beginnings, before, word.node.textContent ?? "", translation.target);
      this.list(word, before, words, otherSentences(sentences, word.segment.text), async (chosen) => {
        const again = await sendForJson<TranslateResponse>("v1/translate", {
          json: { ...options, glossary: translation.glossary, target_prefix: chosen, return_alignment: true, return_tokens: true },
        });
        this.onChosen(word.segment, replacedSegment(word.segment, options.text, again.translations[0]));
      });
    } catch (error) {
      if (!isAbort(error)) this.open(word.node, messageOf(error));
    }
  }

  private list(word: Word, before: string, words: string[], sentences: string[], choose: (text: string) => Promise<void>): void {
    const item = (text: string, className: string, chosen: string) =>
      button(text, `item ${className}`, () => {
        this.panel.hidePopover();
        choose(chosen).catch((error: unknown) => announce(messageOf(error)));
      });
    const items = [
      ...words.map((next) => item(next, "", before + next)),
      ...sentences.map((sentence) => item(sentence, "sentence", sentence)),
    ];
    if (!items.length) {
      this.open(word.node, translated("There are no other words here."));
      return;
    }
    this.panel.replaceChildren(...items);
    this.place(word.node);
    items[0]?.focus();
    announce(translated("{count} other words and sentences", { count: String(items.length) }));
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

interface Hypothesis {
  text: string;
  score: number;
}

/** Return the hypotheses of one request, the best first. */
async function hypotheses(json: object, signal: AbortSignal): Promise<Hypothesis[]> {
  const { translations } = await sendForJson<TranslateResponse>("v1/translate", { signal, json });
  return [translations[0], ...(translations[0].alternatives ?? [])];
}

function beams(count: number): object {
  return { beam_size: count, num_hypotheses: count };
}

/** Return the probable words after a prefix, without the one that is shown, and without mere changes of case. */
function otherWords(beginnings: Hypothesis[], prefix: string, shown: string, language: string): string[] {
  const segmenter = new Intl.Segmenter(language.replaceAll("_", "-"), { granularity: "word" });
  const shares = new Map<string, number>();
  let total = 0;
  for (const { text, score } of beginnings) {
    if (!text.startsWith(prefix)) continue;
    const rest = text.slice(prefix.length);
    const word = [...segmenter.segment(rest)].find((part) => part.isWordLike);
    if (!word) continue;
    const end = word.index + word.segment.length;
    // A word at the end of a hypothesis may be cut at the length limit, as "isn" or "isn'".
    if (!/^[\p{L}\s.,;:!?…"”»)]/u.test(rest.slice(end))) continue;
    const next = rest.slice(0, end);
    shares.set(next, (shares.get(next) ?? 0) + Math.exp(score));
    total += Math.exp(score);
  }
  const probable = [...shares].filter(([, share]) => share >= MIN_SHARE * total).sort(([, one], [, other]) => other - one);
  return distinct(probable.map(([next]) => next), shown).slice(0, MAX_WORDS);
}

/** Return the sentences that are nearly as good as the best one, without the one that is shown. */
function otherSentences(sentences: Hypothesis[], shown: string): string[] {
  const best = sentences[0]?.score ?? 0;
  const good = sentences.filter(({ score }) => score >= best - MAX_LOSS);
  return distinct(good.map(({ text }) => text), shown).slice(0, MAX_SENTENCES);
}

/** Return the texts that differ from those before, and from a first one, in more than case and punctuation. */
function distinct(texts: string[], first: string): string[] {
  const plain = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, " ").trim();
  const seen = new Set([plain(first)]);
  return texts.filter((text) => !seen.has(plain(text)) && seen.add(plain(text)));
}
