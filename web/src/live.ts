/** Translates a text as it is typed: waits for a pause, cancels the previous request, streams, and retries. */
import { ServerError, Unreachable, eventsOf, isAbort, send, sleep, type ErrorBody } from "./api";
import {
  completeTranslation,
  partialSegments,
  type Segment,
  type SegmentEvent,
  type Translation,
  type TranslateResponse,
} from "./translations";

const PAUSE_S = 0.35;
const FIRST_RETRY_S = 1;
const MAX_RETRY_S = 30;

export interface Question {
  text: string;
  /** Null to detect it. */
  source: string | null;
  target: string;
  /** Null leaves the form of address to the model. */
  formality: string | null;
  /** Id of the glossary whose terms are used; null for none. */
  glossary: string | null;
}

export interface Listener {
  onBusy(isBusy: boolean): void;
  onSegments(segments: Segment[]): void;
  onDone(translation: Translation): void;
  /** `retryInS` is null if the same request would fail again. */
  onError(error: ServerError | Unreachable, retryInS: number | null): void;
}

export class LiveTranslator {
  private running: AbortController | null = null;
  private question: Question | null = null;

  constructor(private readonly listener: Listener) {}

  /** Translate after a pause, and cancel whatever runs; null only cancels. */
  translate(question: Question | null, pauseS = PAUSE_S): void {
    this.running?.abort();
    this.running = null;
    this.question = question;
    this.listener.onBusy(question !== null);
    if (question === null) return;
    const controller = new AbortController();
    this.running = controller;
    this.run(question, pauseS, controller.signal).catch((error: unknown) => {
      if (isAbort(error)) return;
      this.listener.onBusy(false);
      throw error;
    });
  }

  /** Translate the same text again, at once. */
  retry(): void {
    this.translate(this.question, 0);
  }

  private async run(question: Question, pauseS: number, signal: AbortSignal): Promise<void> {
    await sleep(pauseS, signal);
    for (let retryS = FIRST_RETRY_S; ; retryS = Math.min(2 * retryS, MAX_RETRY_S)) {
      try {
        const translation = await this.stream(question, signal);
        this.listener.onBusy(false);
        this.listener.onDone(translation);
        return;
      } catch (error) {
        if (!(error instanceof ServerError || error instanceof Unreachable)) throw error;
        const isTemporary = error instanceof Unreachable || error.isTemporary;
        const waitS = Math.max(retryS, error instanceof ServerError ? (error.retryAfterS ?? 0) : 0);
        this.listener.onBusy(false);
        this.listener.onError(error, isTemporary ? waitS : null);
        if (!isTemporary) return;
        await sleep(waitS, signal);
        this.listener.onBusy(true);
      }
    }
  }

  private async stream(question: Question, signal: AbortSignal): Promise<Translation> {
    const json = { ...question, return_alignment: true, return_tokens: true };
    const response = await send("v1/translate/stream", { json, signal });
    const segments: SegmentEvent[] = [];
    let translation: Translation | null = null;
    for await (const event of eventsOf(response)) {
      if (event.name === "segment") {
        segments.push(event.data as SegmentEvent);
        this.listener.onSegments(partialSegments(question.text, segments));
      } else if (event.name === "done") {
        const [done] = (event.data as TranslateResponse).translations;
        // The loop goes on to the end of the response: a connection closed before it looks like a client that left.
        translation = completeTranslation(question, segments, done);
      } else if (event.name === "error") {
        const { type, message } = (event.data as ErrorBody).error;
        throw new ServerError(type === "overloaded" ? 429 : 500, type, message, null);
      }
    }
    if (translation === null) throw new Unreachable(); // the stream ended before its last event
    return translation;
  }
}
