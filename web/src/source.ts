/** The field for the text. A mirror behind it, with the same text, shows marks that a text field cannot show. */
import { element } from "./dom";
import type { Span } from "./translations";

export interface SourceListener {
  onInput(): void;
  /** Position of the cursor; null if the field has no focus. */
  onCursor(position: number | null): void;
}

export class SourceField {
  constructor(
    private readonly field: HTMLTextAreaElement,
    private readonly mirror: HTMLElement,
    listener: SourceListener,
  ) {
    field.addEventListener("input", () => {
      this.mark([]);
      listener.onInput();
    });
    document.addEventListener("selectionchange", () => {
      if (document.activeElement === field) listener.onCursor(field.selectionStart);
    });
    field.addEventListener("blur", () => listener.onCursor(null));
  }

  get text(): string {
    return this.field.value;
  }

  set text(text: string) {
    this.field.value = text;
    this.mark([]);
  }

  focus(): void {
    this.field.focus();
  }

  /** Set the language; the direction is that of the text. */
  setLanguage(code: string): void {
    for (const node of [this.field, this.mirror]) node.lang = code.replaceAll("_", "-");
  }

  /** Mark parts of the text. */
  mark(spans: Span[]): void {
    const nodes: (Node | string)[] = [];
    let end = 0;
    for (const [from, to] of [...spans].sort((one, other) => one[0] - other[0])) {
      if (from < end) continue;
      nodes.push(this.text.slice(end, from), element("mark", {}, this.text.slice(from, to)));
      end = to;
    }
    this.mirror.replaceChildren(...nodes, this.text.slice(end), "\u200b"); // else the last line break has no height
  }
}
