/** Documents: upload, progress, download and cancellation, by the server's jobs. They survive a reload of the page. */
import { ServerError, Unreachable, isAbort, messageOf, send, sendForJson, sleep } from "./api";
import { announce, button, byId, element } from "./dom";
import { nameOf } from "./languages";
import { load, save } from "./stored";
import { errorSentence, translated } from "./strings";

const POLL_S = 1;
const MAX_POLL_S = 10;
const KEPT = "jobs";

export interface DocumentLimits {
  suffixes: string[];
  maxBytes: number;
}

interface Job {
  id: string;
  state: "queued" | "running" | "done" | "failed" | "cancelled";
  file_name: string;
  source: string | null;
  target: string;
  progress: { entries: number; done: number; failed: number; time_left_s: number | null };
  problem: string | null;
  result: { file_name: string } | null;
}

export interface LanguageChoice {
  source: string | null;
  target: string;
  glossary: string | null;
}

/** Return the languages for what is in the target language already; null if the server has no other target for it. */
export type SwitchTarget = (choice: LanguageChoice) => LanguageChoice | null;

/** Show the section for documents, and translate the files that the user chooses or drops. */
export function setUpDocuments(limits: DocumentLimits, languages: () => LanguageChoice, switched: SwitchTarget): void {
  byId("documents", HTMLElement).hidden = false;
  byId("formats", HTMLElement).textContent = limits.suffixes.map((suffix) => suffix.slice(1)).join(", ");
  const input = byId("file", HTMLInputElement);
  input.accept = limits.suffixes.flatMap((suffix) => [suffix, `${suffix}.gz`]).join(",");
  const add = (files: Iterable<File>) => {
    for (const file of files) {
      const row = new DocumentRow(file.name);
      const problem = problemOf(file, limits);
      if (problem === null) row.run(row.translate(file, languages(), switched));
      else row.fail(problem);
    }
  };
  input.addEventListener("change", () => {
    add(input.files ?? []);
    input.value = "";
  });
  const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
  const zone = byId("drop-zone", HTMLElement);
  document.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    zone.classList.add("over");
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) zone.classList.remove("over");
  });
  document.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    zone.classList.remove("over");
    add(event.dataTransfer?.files ?? []);
  });
}

/** Show the documents that this tab had before it was reloaded, unless they are shown. */
export async function restoreDocuments(): Promise<void> {
  if (byId("files", HTMLElement).hasChildNodes()) return;
  for (const id of keptJobs()) {
    try {
      const job = await sendForJson<Job>(`v1/jobs/${id}`);
      const row = new DocumentRow(job.file_name);
      row.run(row.follow(job).then((ended) => row.show(ended)));
    } catch (error) {
      if (error instanceof ServerError && error.status === 404) forget(id);
    }
  }
}

function keptJobs(): string[] {
  return (load(KEPT, "session") ?? "").split(" ").filter(Boolean);
}

function forget(id: string): void {
  save(KEPT, keptJobs().filter((other) => other !== id).join(" ") || null, "session");
}

/** Return why a file is not sent, or null. */
function problemOf(file: File, { suffixes, maxBytes }: DocumentLimits): string | null {
  const name = file.name.toLowerCase().replace(/\.(gz|zst)$/, "");
  if (!suffixes.some((suffix) => name.endsWith(suffix))) return translated("This format is not supported.");
  if (file.size <= maxBytes) return null;
  return translated("The file is too large: the limit is {size} MiB.", { size: String(Math.floor(maxBytes / 2 ** 20)) });
}

/** One file in the list. */
class DocumentRow {
  private readonly state = element("span", { class: "state" });
  private readonly bar: HTMLProgressElement;
  private readonly actions = element("span", { class: "actions" }, button(translated("Cancel"), "quiet", () => this.cancel()));
  private readonly node: HTMLElement;
  private readonly cancelled = new AbortController();
  private jobId: string | null = null;

  constructor(private readonly name: string) {
    this.bar = element("progress", { "aria-label": translated("Progress of {name}", { name }) });
    this.node = element("li", {}, element("span", { class: "name", title: name }, name), this.state, this.bar, this.actions);
    byId("files", HTMLElement).prepend(this.node);
  }

  /** Show what goes wrong with the work. */
  run(work: Promise<void>): void {
    work.catch((error: unknown) => {
      if (!isAbort(error)) this.fail(messageOf(error), error instanceof ServerError ? error.detail : "");
    });
  }

  /** Translate a file; into another language if the server finds that it is in the target language. */
  async translate(file: File, choice: LanguageChoice, switched: SwitchTarget, done?: string): Promise<void> {
    this.state.textContent = translated("Uploading…");
    const form = new FormData();
    if (choice.source !== null) form.append("source", choice.source);
    form.append("target", choice.target);
    if (choice.glossary !== null) form.append("glossary", choice.glossary);
    form.append("file", file);
    const job = await this.follow(await sendForJson<Job>("v1/jobs", { form, signal: this.cancelled.signal }));
    const other = isInTarget(job) ? switched(choice) : null;
    if (other === null) {
      this.show(job, done);
      return;
    }
    this.remove();
    const values = { language: nameOf(choice.target), target: nameOf(other.target) };
    const message = translated("Done: {language} → {target}.", values);
    await this.translate(file, other, switched, message);
  }

  /** Show the progress of a job; return the job when it ends. */
  async follow(job: Job): Promise<Job> {
    this.jobId = job.id;
    save(KEPT, [...keptJobs().filter((other) => other !== job.id), job.id].join(" "), "session");
    while (job.state === "queued" || job.state === "running") {
      this.showProgress(job);
      job = await this.poll(job.id);
    }
    return job;
  }

  /** Return the job's next state; wait for the server if it is gone for a while. */
  private async poll(id: string): Promise<Job> {
    for (let waitS = POLL_S; ; waitS = Math.min(2 * waitS, MAX_POLL_S)) {
      await sleep(waitS, this.cancelled.signal);
      try {
        return await sendForJson<Job>(`v1/jobs/${id}`, { signal: this.cancelled.signal });
      } catch (error) {
        const isTemporary = error instanceof Unreachable || (error instanceof ServerError && error.isTemporary);
        if (!isTemporary) throw error;
        this.state.textContent = translated("{text} Trying again.", { text: messageOf(error) });
      }
    }
  }

  private showProgress({ state, progress }: Job): void {
    if (state === "queued" || !progress.entries) {
      this.state.textContent = translated("Waiting…");
      return;
    }
    this.bar.max = progress.entries;
    this.bar.value = progress.done;
    const percent = String(Math.floor((100 * progress.done) / progress.entries));
    const time = progress.time_left_s === null ? null : duration(progress.time_left_s);
    this.state.textContent = time === null ? `${percent} %` : translated("{percent} %, {time} left", { percent, time });
  }

  /** Show a job that has ended. */
  show(job: Job, done = translated("Done.")): void {
    const { id, state, target, progress, problem, result } = job;
    if (state !== "done") {
      this.fail(problem === null ? translated("Cancelled.") : errorSentence("invalid_input", problem), problem ?? "");
      return;
    }
    const count = String(progress.failed);
    if (progress.failed) done = translated("Done, but {count} texts could not be translated and are unchanged.", { count });
    else if (isInTarget(job)) done = translated("The text is already in {language}.", { language: nameOf(target) });
    this.end(done);
    const download = button(translated("Download"), "primary", () => {
      this.download(id, translatedName(result?.file_name ?? this.name, target)).catch((error: unknown) => {
        this.state.textContent = messageOf(error);
      });
    });
    download.setAttribute("aria-label", translated("Download the translation of {name}", { name: this.name }));
    this.actions.prepend(download);
  }

  private async download(id: string, name: string): Promise<void> {
    // A link could not send the API key.
    const content = await (await send(`v1/jobs/${id}/result`)).blob();
    const url = URL.createObjectURL(content);
    element("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }

  private cancel(): void {
    this.cancelled.abort();
    this.remove();
    this.end(translated("Cancelled."));
  }

  /** Cancel the job, or delete one that has ended: the server need not keep the file. */
  private remove(): void {
    if (this.jobId === null) return;
    forget(this.jobId);
    send(`v1/jobs/${this.jobId}`, { method: "DELETE" }).catch((error: unknown) => {
      announce(messageOf(error));
    });
  }

  fail(message: string, detail = ""): void {
    this.node.classList.add("failed");
    this.state.title = detail;
    this.end(message);
  }

  private end(message: string): void {
    this.state.textContent = message;
    this.bar.hidden = true;
    const remove = button(translated("Remove"), "quiet", () => {
      this.remove();
      this.node.remove();
      byId("file", HTMLInputElement).focus();
    });
    remove.setAttribute("aria-label", translated("Remove {name}", { name: this.name }));
    this.actions.replaceChildren(remove);
    announce(`${this.name}: ${message}`);
  }
}

/** Whether the server found that a document is in the target language, so that it is unchanged. */
function isInTarget({ source, target }: Job): boolean {
  return source === target;
}

/** Return `letters.en.csv` for `letters.csv`. */
export function translatedName(name: string, target: string): string {
  const dot = name.search(/\.[^.]+(\.(gz|zst))?$/i);
  return dot < 0 ? `${name}.${target}` : `${name.slice(0, dot)}.${target}${name.slice(dot)}`;
}

function duration(seconds: number): string {
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
}
