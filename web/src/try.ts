/** A form that sends a request to the server and shows the response. */
import { apiKey } from "./api";
import { button, element } from "./dom";
import { resolve, type Operation, type OpenApiDocument } from "./openapi";

const JSON_TYPE = "application/json";
const MAX_SHOWN_CHARACTERS = 100_000;

/** Return the form of an operation; only a note if its body is a file. */
export function tryForm(api: OpenApiDocument, path: string, method: string, operation: Operation): HTMLElement {
  const content = operation.requestBody?.content;
  if (content && !content[JSON_TYPE]) return element("p", { class: "hint" }, "Send this request from a program.");
  const form = element("div", { class: "try" }, element("h3", {}, "Try it"));
  const inputs = (operation.parameters ?? [])
    .filter((parameter) => parameter.in === "path" || parameter.in === "query")
    .map((parameter) => ({ parameter, input: element("input", { autocomplete: "off" }) }));
  for (const { parameter, input } of inputs) {
    form.append(element("label", {}, `${parameter.name} (${parameter.in})`, input));
  }
  let body: HTMLTextAreaElement | null = null;
  if (content) {
    body = element("textarea", { class: "code", "aria-label": "JSON body", spellcheck: "false" });
    body.value = JSON.stringify(exampleOf(api, operation), null, 2);
    form.append(body);
  }
  const output = element("pre", { hidden: true, tabindex: 0, "aria-live": "polite" });
  const send = async () => {
    let address = path;
    const query = new URLSearchParams();
    for (const { parameter, input } of inputs) {
      if (parameter.in === "path") address = address.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
      else if (input.value) query.append(parameter.name, input.value);
    }
    if (query.size) address += `?${query}`;
    output.hidden = false;
    output.textContent = "…";
    output.textContent = await responseOf(address.replace(/^\//, ""), method, body?.value ?? null);
  };
  form.append(element("p", {}, button("Send", "primary", () => void send())), output);
  return form;
}

function exampleOf(api: OpenApiDocument, operation: Operation): unknown {
  const media = operation.requestBody?.content[JSON_TYPE];
  const schema = resolve(api, media?.schema);
  const example = media?.example ?? schema.example ?? schema.examples?.[0];
  if (example !== undefined) return example;
  const required = schema.required ?? [];
  return Object.fromEntries(required.map((name) => [name, schema.properties?.[name]?.examples?.[0] ?? ""]));
}

async function responseOf(address: string, method: string, body: string | null): Promise<string> {
  const headers: Record<string, string> = {};
  const key = apiKey();
  if (key !== null && address.startsWith("v2/")) headers["Authorization"] = `DeepL-Auth-Key ${key}`;
  else if (key !== null) headers["X-API-Key"] = key;
  if (body !== null) headers["Content-Type"] = JSON_TYPE;
  try {
    const response = await fetch(address, { method: method.toUpperCase(), headers, body });
    const text = (await response.text()).slice(0, MAX_SHOWN_CHARACTERS);
    return `${response.status} ${response.statusText}\n\n${pretty(text)}`;
  } catch {
    return "The server cannot be reached.";
  }
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
