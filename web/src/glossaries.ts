/** The glossaries of the key, and the menu to choose one. */
import { ServerError, sendForJson } from "./api";
import { element } from "./dom";
import { DETECT } from "./languages";
import { translated } from "./strings";

export interface Glossary {
  id: string;
  name: string;
  dictionaries: { source: string; target: string }[];
}

/** Return the glossaries; none if the key may not read them, or has had too many requests: the page works without. */
export async function loadGlossaries(): Promise<Glossary[]> {
  try {
    return (await sendForJson<{ glossaries: Glossary[] }>("v1/glossaries")).glossaries;
  } catch (error) {
    if (error instanceof ServerError && [403, 429].includes(error.status)) return [];
    throw error;
  }
}

/** Return the glossaries for a language pair. */
export function fittingGlossaries(glossaries: Glossary[], source: string, target: string): Glossary[] {
  return glossaries.filter(({ dictionaries }) =>
    dictionaries.some((each) => (source === DETECT || each.source === source) && each.target === target),
  );
}

/** Fill the menu with the glossaries for a language pair; keep the choice where it is still possible. */
export function fillGlossaryMenu(menu: HTMLSelectElement, glossaries: Glossary[], source: string, target: string): void {
  const before = menu.value;
  const fitting = fittingGlossaries(glossaries, source, target);
  const none = element("option", { value: "" }, translated("none"));
  menu.replaceChildren(none, ...fitting.map(({ id, name }) => element("option", { value: id }, name)));
  if (fitting.some(({ id }) => id === before)) menu.value = before;
}
