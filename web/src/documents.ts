/** Documents: upload, progress, download and cancellation, by the server's jobs. */
import { ServerError, Unreachable, isAbort, messageOf, send, sendForJson, sleep } from "./api";
import { announce, button, byId, element } from "./dom";
import { errorSentence, translated } from "./strings";

const POLL_S = 1;
const MAX_POLL_S = 10;

export interface DocumentLimits {
  suffixes: string[];
  maxBytes: number;
}

interface Job {
  id: string;
  state: "queued" | "running" | "done" | "failed" | "cancelled";
  progress: { entries: number; done: number; failed: number; time_left_s: number | null };
  problem: string | null;
  result: { file_name: string } | null;
}

export interface LanguageChoice {
  source: string | null;
  target: string;
  glossary: string | null;
}

/** Show the section for documents, and translate the files that the user chooses or drops. */
export function setUpDocuments(limits: DocumentLimits, languages: () => LanguageChoice): void {
  byId("documents", HTMLElement).hidden = false;
  byId("formats", HTMLElement).textContent = limits.suffixes.map((suffix) => suffix.slice(1)).join(", ");
  const input = byId("file", HTMLInputElement);
  input.accept = limits.suffixes.flatMap((suffix) => [suffix, `${suffix}.gz`]).join(",");
  const add = (files: Iterable<File>) => {
    for (const file of files) new DocumentRow(file, languages()).start(limits);
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

/** One file in the list. */
class DocumentRow {
  private readonly state = element("span", { class: "state" });
  private readonly bar: HTMLProgressElement;
  private readonly actions = element("span", { class: "actions" });
  private readonly node: HTMLElement;
  private readonly cancelled = new AbortController();
  private jobId: string | null = null;

  constructor(
    private readonly file: File,
    private readonly languages: LanguageChoice,
  ) {
    this.bar = element("progress", { "aria-label": translated("Progress of {name}", { name: file.name }) });
    const name = element("span", { class: "name", title: file.name }, file.name);
    this.node = element("li", {}, name, this.state, this.bar, this.actions);
    byId("files", HTMLElement).prepend(this.node);
  }

  start(limits: DocumentLimits): void {
    const name = this.file.name.toLowerCase().replace(/\.(gz|zst)$/, "");
    if (!limits.suffixes.some((suffix) => name.endsWith(suffix))) {
      this.fail(translated("This format is not supported."));
      return;
    }
    if (this.file.size > limits.maxBytes) {
      this.fail(translated("The file is too large: the limit is {size} MiB.", { size: String(Math.floor(limits.maxBytes / 2 ** 20)) }));
      return;
    }
    this.actions.append(button(translated("Cancel"), "quiet", () => this.cancel()));
    this.translate().catch((error: unknown) => {
      if (!isAbort(error)) this.fail(messageOf(error), error instanceof ServerError ? error.detail : "");
    });
  }

  private async translate(): Promise<void> {
    this.state.textContent = translated("Uploading…");
    const form = new FormData();
    if (this.languages.source !== null) form.append("source", this.languages.source);
    form.append("target", this.languages.target);
    if (this.languages.glossary !== null) form.append("glossary", this.languages.glossary);
    form.append("file", this.file);
    let job = await sendForJson<Job>("v1/jobs", { form, signal: this.cancelled.signal });
    this.jobId = job.id;
    while (job.state === "queued" || job.state === "running") {
      this.showProgress(job);
      job = await this.poll(job.id);
    }
    if (job.state !== "done") this.fail(job.problem === null ? translated("Cancelled.") : errorSentence("invalid_input", job.problem), job.problem ?? "");
    else this.offer(job);
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

  private offer({ id, progress, result }: Job): void {
    const count = String(progress.failed);
    this.end(translated(progress.failed ? "Done, but {count} texts could not be translated and are unchanged." : "Done.", { count }));
    const download = button(translated("Download"), "primary", () => {
      this.download(id, result?.file_name ?? this.file.name).catch((error: unknown) => {
        this.state.textContent = messageOf(error);
      });
    });
    download.setAttribute("aria-label", translated("Download the translation of {name}", { name: this.file.name }));
    this.actions.prepend(download);
  }

  private async download(id: string, name: string): Promise<void> {
    // A link could not send the API key.
    const content = await (await send(`v1/jobs/${id}/result`)).blob();
    const url = URL.createObjectURL(content);
    element("a", { href: url, download: translatedName(name, this.languages.target) }).click();
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
    send(`v1/jobs/${this.jobId}`, { method: "DELETE" }).catch((error: unknown) => {
      announce(messageOf(error));
    });
  }

  private fail(message: string, detail = ""): void {
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
    remove.setAttribute("aria-label", translated("Remove {name}", { name: this.file.name }));
    this.actions.replaceChildren(remove);
    announce(`${this.file.name}: ${message}`);
  }
}

/** Return `letters.en.csv` for `letters.csv`. */
export function translatedName(name: string, target: string): string {
  const dot = name.search(/\.[^.]+(\.(gz|zst))?$/i);
  return dot < 0 ? `${name}.${target}` : `${name.slice(0, dot)}.${target}${name.slice(dot)}`;
}

function duration(seconds: number): string {
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
}
