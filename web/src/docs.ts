/** Shows the server's OpenAPI document: operations with their fields and responses, and a form to try them. */
import { ServerError, sendForJson } from "./api";
import { byId, element } from "./dom";
import { setUpKeyDialog } from "./key";
import { fieldsTable, richText, rowsOf, typeOf, type FieldRow } from "./schemas";
import { setUpTheme } from "./theme";
import { tryForm } from "./try";
import type { Operation, OpenApiDocument } from "./openapi";

const METHODS = ["get", "post", "put", "patch", "delete"];

const openKeyDialog = setUpKeyDialog(() => void start());

async function start(): Promise<void> {
  try {
    show(await sendForJson<OpenApiDocument>("openapi.json"));
    byId("notice-box", HTMLElement).hidden = true;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof ServerError && error.status === 401) openKeyDialog(message);
    byId("notice", HTMLElement).textContent = message;
    byId("notice-box", HTMLElement).hidden = false;
  }
}

function show(api: OpenApiDocument): void {
  byId("title", HTMLElement).textContent = `${api.info.title} API ${api.info.version}`;
  byId("description", HTMLElement).replaceChildren(...richText(api.info.description ?? ""));
  const byTag = new Map<string, HTMLElement[]>();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const method of METHODS) {
      const operation = methods[method];
      if (!operation) continue;
      const tag = operation.tags?.[0] ?? "other";
      byTag.set(tag, [...(byTag.get(tag) ?? []), operationNode(api, path, method, operation)]);
    }
  }
  const sections = [...byTag].map(([tag, nodes]) => element("section", {}, element("h2", {}, tag), ...nodes));
  byId("operations", HTMLElement).replaceChildren(...sections);
}

function operationNode(api: OpenApiDocument, path: string, method: string, operation: Operation): HTMLElement {
  const summary = element(
    "summary",
    {},
    element("code", { class: "method" }, method.toUpperCase()),
    element("code", {}, path),
    element("span", { class: "hint" }, operation.summary ?? ""),
  );
  const details = element("details", { class: "operation", id: operation.operationId ?? "" }, summary);
  // There may be hundreds of fields; most are never opened.
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(contentOf(api, path, method, operation));
  });
  return details;
}

function contentOf(api: OpenApiDocument, path: string, method: string, operation: Operation): HTMLElement {
  const content = element("div", {}, ...richText(operation.description ?? ""));
  const parameters = (operation.parameters ?? []).map<FieldRow>((parameter) => ({
    name: parameter.name,
    type: `${parameter.in}, ${typeOf(api, parameter.schema)}`,
    description: parameter.description ?? "",
    isRequired: parameter.required ?? false,
  }));
  if (parameters.length) content.append(element("h3", {}, "Parameters"), fieldsTable(parameters));
  const body = Object.entries(operation.requestBody?.content ?? {});
  const [first] = body;
  if (first?.[1].schema) {
    content.append(
      element("h3", {}, `Body: ${body.map(([mediaType]) => mediaType).join(" or ")}`),
      fieldsTable(rowsOf(api, first[1].schema)),
    );
  }
  content.append(element("h3", {}, "Responses"));
  const responses = Object.entries(operation.responses).sort(([one], [other]) => one.localeCompare(other));
  content.append(
    fieldsTable(responses.map(([status, { description }]) => ({ name: status, type: "", description, isRequired: false }))),
  );
  for (const [status, response] of responses) {
    const schema = response.content?.["application/json"]?.schema;
    if (!status.startsWith("2") || !schema) continue;
    content.append(element("h3", {}, `Response ${status}`), fieldsTable(rowsOf(api, schema)));
  }
  content.append(tryForm(api, path, method, operation));
  return content;
}

setUpTheme();
void start();
