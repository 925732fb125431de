/** The translation: words, confidence, alignment, and movement from word to word by keyboard. */
import { announce, element } from "./dom";
import { directionOf } from "./languages";
import { translated } from "./strings";
import type { Segment, Span, Translation } from "./translations";

const LOW_CONFIDENCE = 0.5;
const MIDDLE_CONFIDENCE = 0.7;

/** A word of the translation. */
export interface Word {
  node: HTMLElement;
  segment: Segment;
  /** In the segment's text. */
  span: Span;
}

export interface OutputListener {
  /** Parts of the source that belong to the word in focus or under the pointer. */
  onAligned(spans: Span[]): void;
  onWordChosen(word: Word): void;
}

export class Output {
  private words: Word[] = [];
  private current: Word | null = null;
  private translation: Translation | null = null;

  constructor(
    private readonly node: HTMLElement,
    private readonly listener: OutputListener,
  ) {
    node.addEventListener("keydown", (event) => this.onKey(event));
    node.addEventListener("focus", () => this.mark(this.current));
    node.addEventListener("blur", () => this.mark(null));
    node.addEventListener("mouseover", (event) => this.mark(this.wordOf(event.target)));
    node.addEventListener("mouseleave", () => this.mark(null));
    node.addEventListener("click", (event) => {
      const word = this.wordOf(event.target);
      if (word && document.getSelection()?.isCollapsed !== false) this.choose(word);
    });
  }

  /** Show the segments that have arrived. */
  showPartial(segments: Segment[], target: string): void {
    this.render(segments, "", target);
    this.translation = null;
  }

  show(translation: Translation): void {
    this.render(translation.segments, translation.end, translation.target);
    this.translation = translation;
  }

  clear(): void {
    this.words = [];
    this.current = this.translation = null;
    this.node.replaceChildren();
    this.listener.onAligned([]);
  }

  /** Mark the words that are aligned with a position in the source, where the user's cursor is. */
  markSource(position: number | null): void {
    for (const { node, segment, span } of this.words) {
      const isAligned = segment.links.some(
        ({ source, target }) => position !== null && source[0] <= position && position < source[1] && overlap(target, span),
      );
      node.classList.toggle("aligned", isAligned);
    }
  }

  private render(segments: Segment[], end: string, target: string): void {
    const at = this.current ? this.words.indexOf(this.current) : -1;
    this.words = [];
    this.node.lang = target.replaceAll("_", "-");
    this.node.dir = directionOf(target);
    const segmenter = new Intl.Segmenter(this.node.lang || undefined, { granularity: "word" });
    const nodes = segments.flatMap((segment) => [segment.gap, this.segmentNode(segment, segmenter)]);
    this.node.replaceChildren(...nodes, end);
    this.current = this.words[at] ?? null;
    this.current?.node.classList.add("current");
    this.listener.onAligned([]);
  }

  private segmentNode(segment: Segment, segmenter: Intl.Segmenter): HTMLElement {
    const node = element("span", { class: `segment ${confidenceClass(segment.confidence)}` });
    if (segment.confidence !== null) node.title = translated("Confidence {percent} %", { percent: String(Math.round(100 * segment.confidence)) });
    for (const part of segmenter.segment(segment.text)) {
      if (!part.isWordLike) {
        node.append(part.segment);
        continue;
      }
      const word = element("span", { class: "word" }, part.segment);
      this.words.push({ node: word, segment, span: [part.index, part.index + part.segment.length] });
      node.append(word);
    }
    return node;
  }

  private wordOf(target: EventTarget | null): Word | null {
    return this.words.find((word) => word.node === target) ?? null;
  }

  private choose(word: Word): void {
    if (this.translation) this.listener.onWordChosen(word);
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.words.length) return;
    const forwards = this.node.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
    const backwards = this.node.dir === "rtl" ? "ArrowRight" : "ArrowLeft";
    const at = this.current ? this.words.indexOf(this.current) : -1;
    const last = this.words.length - 1;
    const next = new Map([
      [forwards, Math.min(at + 1, last)],
      [backwards, Math.max(at - 1, 0)],
      ["Home", 0],
      ["End", last],
    ]).get(event.key);
    if (next !== undefined) this.setCurrent(this.words[next] ?? null);
    else if ((event.key === "Enter" || event.key === " ") && this.current) this.choose(this.current);
    else return;
    event.preventDefault();
  }

  private setCurrent(word: Word | null): void {
    this.current?.node.classList.remove("current");
    this.current = word;
    word?.node.classList.add("current");
    word?.node.scrollIntoView({ block: "nearest" });
    if (word) announce(translated("{word}. Press Enter for other words.", { word: word.node.textContent ?? "" }));
    this.mark(word);
  }

  private mark(word: Word | null): void {
    const links = word ? word.segment.links.filter((link) => overlap(link.target, word.span)) : [];
    const sources = links.map((link) => link.source);
    for (const { node, segment, span } of this.words) {
      const isAligned =
        segment === word?.segment &&
        segment.links.some((link) => overlap(link.target, span) && sources.some((source) => overlap(source, link.source)));
      node.classList.toggle("aligned", isAligned);
    }
    this.listener.onAligned(sources);
  }
}

function overlap(one: Span, other: Span): boolean {
  return one[0] < other[1] && other[0] < one[1];
}

function confidenceClass(confidence: number | null): string {
  if (confidence === null || confidence >= MIDDLE_CONFIDENCE) return "";
  return confidence < LOW_CONFIDENCE ? "low" : "middle";
}
