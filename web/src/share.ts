/** Text and languages in the fragment of the address, which browsers do not send to the server. */

export interface Shared {
  text: string;
  source: string | null;
  target: string | null;
}

/** Return the address of the page with a text to translate. */
export function addressOf(text: string, source: string, target: string): string {
  const fragment = new URLSearchParams({ source, target, text });
  return `${location.href.split("#")[0]}#${fragment}`;
}

/** Return what the address of the page has, or null. */
export function readFragment(): Shared | null {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const text = fragment.get("text");
  return text === null ? null : { text, source: fragment.get("source"), target: fragment.get("target") };
}

/** Copy a text. Browsers offer their clipboard only to pages loaded by HTTPS or from this machine. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const focused = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "off-screen";
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}
