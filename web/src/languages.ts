/** Languages of the server: the two menus, names, and directions of writing. */
import { sendForJson } from "./api";
import { element } from "./dom";
import { INTERFACE } from "./strings";

const RIGHT_TO_LEFT = new Set(["Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm", "Rohg", "Mand", "Samr"]);
/** Value of the source menu for a language that the server detects. */
export const DETECT = "";

interface LanguagesResponse {
  languages: { source: string; reaches: { targets: string[]; formality: string[] }[] }[];
}

/** Targets of each source language. */
export type Pairs = ReadonlyMap<string, readonly string[]>;

export interface Languages {
  pairs: Pairs;
  /** Those of the pairs whose translations can be formal or informal. */
  withFormality: Pairs;
}

export async function loadLanguages(): Promise<Languages> {
  const { languages } = await sendForJson<LanguagesResponse>("v1/languages");
  const pairsOf = (field: "targets" | "formality") =>
    new Map(languages.map(({ source, reaches }) => [source, reaches.flatMap((reach) => reach[field])]));
  return { pairs: pairsOf("targets"), withFormality: pairsOf("formality") };
}

const names = new Intl.DisplayNames([INTERFACE], { type: "language" });

export function nameOf(code: string): string {
  try {
    return names.of(code.replaceAll("_", "-")) ?? code;
  } catch {
    return code;
  }
}

export function directionOf(code: string): "ltr" | "rtl" {
  try {
    const script = new Intl.Locale(code.replaceAll("_", "-")).maximize().script ?? "";
    return RIGHT_TO_LEFT.has(script) ? "rtl" : "ltr";
  } catch {
    return "ltr";
  }
}

export function hasPair(pairs: Pairs, source: string, target: string): boolean {
  return pairs.get(source)?.includes(target) ?? false;
}

/** Fill a menu; keep the choice where it is still possible. */
export function fillMenu(menu: HTMLSelectElement, codes: Iterable<string>, detect: string | null): void {
  const before = menu.value;
  const options = [...new Set(codes)]
    .map((code) => ({ code, name: nameOf(code) }))
    .sort((one, other) => one.name.localeCompare(other.name, INTERFACE))
    .map(({ code, name }) => element("option", { value: code }, name));
  if (detect !== null) options.unshift(element("option", { value: DETECT }, detect));
  menu.replaceChildren(...options);
  if (options.some((option) => option.value === before)) menu.value = before;
}

/** Choose a language in a menu, also by a code such as `EN-GB` where the menu has `en`; else the first one. */
export function chooseLanguage(menu: HTMLSelectElement, code: string): void {
  menu.value = code;
  if (menu.selectedIndex < 0) menu.value = code.toLowerCase().replace(/[-_].*/, "");
  if (menu.selectedIndex < 0) menu.selectedIndex = 0;
}

/** Return the targets of a source, or of all sources. */
export function targetsOf(pairs: Pairs, source: string): string[] {
  return source === DETECT ? [...pairs.values()].flat() : [...(pairs.get(source) ?? [])];
}
