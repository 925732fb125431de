/** Requests to the server: API key, errors, server-sent events. All addresses are relative to the page. */
import { load, save } from "./stored";
import { errorSentence, translated } from "./strings";

/** An error response of the server, or of a proxy in front of it. */
export class ServerError extends Error {
  constructor(
    readonly status: number,
    readonly type: string,
    /** The server's own words. */
    readonly detail: string,
    readonly retryAfterS: number | null,
  ) {
    super(errorSentence(type, detail));
  }

  /** Whether the same request may succeed a little later. */
  get isTemporary(): boolean {
    if (this.type === "quota_exceeded") return false;
    return [429, 502, 503].includes(this.status);
  }
}

/** No response, or a response that broke off. */
export class Unreachable extends Error {
  constructor() {
    super(translated("The server cannot be reached."));
  }
}

const KEY = "key";
let typedKey: string | null = null;

/** Return the API key that the user typed, or null. */
export function apiKey(): string | null {
  return typedKey ?? load(KEY, "session") ?? load(KEY, "local");
}

/** Use an API key from now on, in this tab or in this browser; null forgets it. */
export function setApiKey(key: string | null, remember: boolean): void {
  typedKey = key;
  save(KEY, remember ? null : key, "session");
  save(KEY, remember ? key : null, "local");
}

/** Whether the key is kept after this tab is closed. */
export function isKeyRemembered(): boolean {
  return load(KEY, "local") !== null;
}

export interface RequestOptions {
  method?: string;
  json?: unknown;
  form?: FormData;
  signal?: AbortSignal;
}

/** Send a request and return a successful response. Throws ServerError, Unreachable, or the signal's AbortError. */
export async function send(path: string, options: RequestOptions = {}): Promise<Response> {
  const headers: Record<string, string> = {};
  const key = apiKey();
  if (key !== null) headers["X-API-Key"] = key;
  const init: RequestInit = { headers, cache: "no-store", credentials: "same-origin" };
  if (options.json !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(options.json);
  } else if (options.form) {
    init.body = options.form;
  }
  init.method = options.method ?? (init.body ? "POST" : "GET");
  if (options.signal) init.signal = options.signal;
  const response = await orUnreachable(fetch(path, init));
  if (!response.ok) throw await toError(response);
  return response;
}

/** Send a request and return the JSON of its response. */
export async function sendForJson<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const response = await send(path, options);
  return (await orUnreachable(response.json())) as T;
}

/** Yield the events of a response of server-sent events. Throws Unreachable if the connection breaks. */
export async function* eventsOf(response: Response): AsyncGenerator<{ name: string; data: unknown }> {
  if (!response.body) throw new Unreachable();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let received = "";
  try {
    for (;;) {
      const { value, done } = await orUnreachable(reader.read());
      if (done) return;
      received += value;
      const parts = received.split("\n\n");
      received = parts.pop() ?? "";
      for (const part of parts) yield parseEvent(part);
    }
  } finally {
    reader.cancel().catch(() => undefined); // it is already broken or cancelled
  }
}

function parseEvent(part: string): { name: string; data: unknown } {
  let name = "message";
  const data: string[] = [];
  for (const line of part.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  return { name, data: data.length ? JSON.parse(data.join("\n")) : null };
}

async function orUnreachable<T>(pending: Promise<T>): Promise<T> {
  try {
    return await pending;
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Unreachable();
  }
}

/** Whether an error means that we cancelled the request. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export interface ErrorBody {
  error: { type: string; message: string };
}

async function toError(response: Response): Promise<ServerError> {
  const after = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  const body = (await response.json().catch(() => null)) as ErrorBody | null;
  return new ServerError(
    response.status,
    body?.error?.type ?? "",
    body?.error?.message ?? `the server responded with status ${response.status}`,
    Number.isNaN(after) ? null : after,
  );
}

/** Return what to show of an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Wait, unless the signal aborts. */
export function sleep(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(new DOMException("cancelled", "AbortError"));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", abort);
      resolve();
    }, seconds * 1000);
    signal.addEventListener("abort", abort, { once: true });
  });
}
