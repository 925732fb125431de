/** Small helpers for the document. */

/** Return the element with an id; the page's own HTML has it. */
export function byId<T extends HTMLElement>(id: string, type: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`the page has no ${type.name} #${id}`);
  return found;
}

type Attributes = Record<string, string | number | boolean>;

/** Return a new element with attributes and children; texts are never parsed as HTML. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false) made.setAttribute(name, String(value));
  }
  made.append(...children);
  return made;
}

/** Return a new button that calls `onClick`. */
export function button(label: string, className: string, onClick: () => void): HTMLButtonElement {
  const made = element("button", { type: "button", class: className }, label);
  made.addEventListener("click", onClick);
  return made;
}

/** Tell something in a few words to all users, screen readers included. */
export function announce(message: string): void {
  byId("status", HTMLElement).textContent = message;
}
