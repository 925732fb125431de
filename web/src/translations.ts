/** Translations as the page shows them. All positions are in UTF-16 code units, as in JavaScript strings. */

export type Span = readonly [number, number];

export interface Link {
  source: Span;
  target: Span;
}

/** A segment of the translation, usually a sentence. */
export interface Segment {
  /** Text between the previous segment and this one. */
  gap: string;
  text: string;
  /** Where its source is in the text; null through a pivot language. */
  source: Span | null;
  /** Its part of the server's confidence in the translation; null until the translation is complete. */
  confidence: number | null;
  /** Tokens of the translation, without the end of the segment. */
  tokens: string[];
  /** Aligned words: `source` in the whole text, `target` in the segment. */
  links: Link[];
}

export interface Translation {
  /** The text that was translated; the field may have changed since. */
  text: string;
  segments: Segment[];
  /** Text after the last segment. */
  end: string;
  source: string;
  target: string;
  detected: string | null;
  finishReason: string;
  isPivot: boolean;
  /** The requested form of address. */
  formality: string | null;
  /** Id of the glossary that was used. */
  glossary: string | null;
}

/** Data of the event `segment`. */
export interface SegmentEvent {
  text: string;
  source_span: Span;
  span: Span;
}

interface Token {
  text: string;
  logprob: number;
}

/** An item of `translations` in a response. */
export interface TranslationOut {
  text: string;
  source: string;
  target: string;
  detected?: { language: string; confidence: number };
  finish_reason: string;
  confidence: number | null;
  /** Only if `return_scores` is sent. */
  score: number;
  alternatives?: { text: string; score: number }[];
  steps?: unknown[];
  alignment?: Link[];
  tokens?: Token[];
}

export interface TranslateResponse {
  translations: [TranslationOut];
}

/** Return a function from the server's positions, in code points, to JavaScript's. */
export function toUtf16(text: string): (span: Span) => Span {
  if (!/[\ud800-\udbff]/.test(text)) return (span) => span;
  const offsets: number[] = [0];
  for (const character of text) offsets.push((offsets.at(-1) ?? 0) + character.length);
  const at = (position: number) => offsets[Math.min(position, offsets.length - 1)] ?? text.length;
  return ([start, end]) => [at(start), at(end)];
}

/** Return the segments so far, while a translation is streamed. */
export function partialSegments(text: string, events: SegmentEvent[]): Segment[] {
  let end = 0;
  return events.map((event) => {
    const gap = " ".repeat(Math.max(0, event.span[0] - end)); // the last event has the real gaps
    end = event.span[1];
    return bare(gap, event.text, toUtf16(text)(event.source_span));
  });
}

/** Return a complete translation, from the events `segment` and the data of the event `done`. */
export function completeTranslation(
  { text, formality, glossary }: { text: string; formality: string | null; glossary: string | null },
  events: SegmentEvent[],
  done: TranslationOut,
): Translation {
  const isPivot = (done.steps ?? []).length > 0;
  const fromSource = toUtf16(text);
  const fromTarget = toUtf16(done.text);
  const tokens = tokensOfSegments(done.tokens ?? [], events.length);
  let end = 0;
  const segments = events.map((event, number) => {
    const [from, to] = fromTarget(event.span);
    const segment = bare(done.text.slice(end, from), done.text.slice(from, to), isPivot ? null : fromSource(event.source_span));
    end = to;
    setTokens(segment, tokens?.[number]);
    segment.links = (done.alignment ?? [])
      .map((link) => ({ source: fromSource(link.source), target: fromTarget(link.target) }))
      .filter((link) => link.target[0] >= from && link.target[1] <= to)
      .map((link) => ({ source: link.source, target: [link.target[0] - from, link.target[1] - from] as const }));
    return segment;
  });
  shareConfidence(segments, done.confidence);
  return {
    text,
    segments,
    end: done.text.slice(end),
    source: done.source,
    target: done.target,
    detected: done.detected?.language ?? null,
    finishReason: done.finish_reason,
    isPivot,
    formality,
    glossary,
  };
}

/** Return a segment translated on its own, in place of another one. */
export function replacedSegment(previous: Segment, sourceText: string, done: TranslationOut): Segment {
  const segment = bare(previous.gap, done.text, previous.source);
  const offset = previous.source?.[0] ?? 0;
  const fromSource = toUtf16(sourceText);
  const fromTarget = toUtf16(done.text);
  segment.links = (done.alignment ?? []).map((link) => {
    const [start, end] = fromSource(link.source);
    return { source: [start + offset, end + offset] as const, target: fromTarget(link.target) };
  });
  setTokens(segment, tokensOfSegments(done.tokens ?? [], 1)?.[0]);
  shareConfidence([segment], done.confidence);
  return segment;
}

/** Return the text of a translation. */
export function textOf(segments: Segment[], end = ""): string {
  return segments.map((segment) => segment.gap + segment.text).join("") + end;
}

/** Return how many tokens of a segment the beginning of its text has, rounded up. */
export function tokensBefore(segment: Segment, length: number): number {
  let covered = 0;
  let count = 0;
  for (const token of segment.tokens) {
    if (covered >= length) break;
    // A byte of a character that the vocabulary lacks: at most four of them make a character.
    covered += /^<0x[0-9A-F]{2}>$/.test(token) ? 0.25 : token.length;
    count += 1;
  }
  return count;
}

function bare(gap: string, text: string, source: Span | null): Segment {
  return { gap, text, source, confidence: null, tokens: [], links: [] };
}

function setTokens(segment: Segment, tokens: Token[] | undefined): void {
  if (!tokens?.length) return;
  segment.tokens = tokens.slice(0, -1).map((token) => token.text);
  segment.confidence = Math.exp(tokens.reduce((sum, token) => sum + token.logprob, 0) / tokens.length);
}

/** Scale the segments' token probabilities so that their mean is what the server says of the whole translation. */
function shareConfidence(segments: Segment[], whole: number | null): void {
  const known = segments.filter((segment) => segment.confidence);
  const count = known.reduce((sum, { tokens }) => sum + tokens.length + 1, 0);
  const mean = known.reduce((sum, { tokens, confidence }) => sum + (tokens.length + 1) * Math.log(confidence ?? 1), 0) / count;
  if (whole === null || !known.length) return;
  for (const segment of known) segment.confidence = Math.min(1, ((segment.confidence ?? 1) * whole) / Math.exp(mean));
}

/** Split the tokens after each end of a segment; null unless every segment has an end. */
function tokensOfSegments(tokens: Token[], count: number): Token[][] | null {
  const end = tokens.at(-1)?.text;
  const split: Token[][] = [[]];
  for (const token of tokens) {
    split.at(-1)?.push(token);
    if (token.text === end) split.push([]);
  }
  split.pop();
  return split.length === count ? split : null;
}
