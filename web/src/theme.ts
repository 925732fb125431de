/** Light and dark colours: as in the system's settings, unless the user chooses. */
import { byId } from "./dom";
import { load, save } from "./stored";

const DARK = matchMedia("(prefers-color-scheme: dark)");

export function setUpTheme(): void {
  const toggle = byId("theme", HTMLButtonElement);
  let chosen = load("theme");
  const apply = () => {
    const isDark = chosen === null ? DARK.matches : chosen === "dark";
    document.documentElement.dataset["theme"] = isDark ? "dark" : "light";
    toggle.setAttribute("aria-pressed", String(isDark));
  };
  toggle.addEventListener("click", () => {
    chosen = toggle.getAttribute("aria-pressed") === "true" ? "light" : "dark";
    // The system's own choice need not be stored: the page then follows it when it changes.
    if ((chosen === "dark") === DARK.matches) chosen = null;
    save("theme", chosen);
    apply();
  });
  DARK.addEventListener("change", apply);
  apply();
}
