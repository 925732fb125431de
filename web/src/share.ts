/** Text and languages in the address. In its fragment, browsers do not send them to the server. */

export interface Shared {
  text: string;
  source: string | null;
  target: string | null;
}

/** Return the address of the page with a text to translate. */
export function addressOf(text: string, source: string, target: string): string {
  const fragment = new URLSearchParams({ source, target, text });
  return `${location.origin}${location.pathname}#${fragment}`;
}

/** Return what the address has: ours, `?source=de&target=en&q=…` as LibreTranslate's, `#de/en/…` as DeepL's; or null. */
export function readAddress(): Shared | null {
  const [, from, to, path] = /^#([\w-]+)\/([\w-]+)\/(.+)$/s.exec(location.hash) ?? [];
  if (from && to && path) return { text: decoded(path).replaceAll("\\/", "/"), source: from, target: to };
  const values = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : location.search);
  const text = values.get("text") ?? values.get("q");
  return text === null ? null : { text, source: values.get("source"), target: values.get("target") };
}

/** Remove what the address has, once it is read: the field is kept for a reload. */
export function clearAddress(): void {
  if (location.hash || location.search) history.replaceState(null, "", location.pathname);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a percent sign that encodes nothing
  }
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
