/** Values kept in this browser. Everything works without them, since a browser may forbid storage. */

const PREFIX = "dragoman.";

/** Return a stored value, or null. */
export function load(name: string, area: "local" | "session" = "local"): string | null {
  try {
    return storage(area).getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Store a value; null removes it. Return whether the browser keeps it. */
export function save(name: string, value: string | null, area: "local" | "session" = "local"): boolean {
  try {
    if (value === null) storage(area).removeItem(PREFIX + name);
    else storage(area).setItem(PREFIX + name, value);
    return true;
  } catch {
    return false;
  }
}

function storage(area: "local" | "session"): Storage {
  return area === "local" ? localStorage : sessionStorage;
}
