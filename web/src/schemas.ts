/** Schemas of an OpenAPI document as tables of fields. */
import { element } from "./dom";
import { resolve, type OpenApiDocument, type Schema } from "./openapi";

const MAX_DEPTH = 4;

export interface FieldRow {
  name: string;
  type: string;
  description: string;
  isRequired: boolean;
}

/** Return a schema's fields, with those of nested objects as `outer.inner` and `list[].inner`. */
export function rowsOf(api: OpenApiDocument, schema: Schema, prefix = "", depth = 0): FieldRow[] {
  const object = resolve(api, schema);
  return Object.entries(object.properties ?? {}).flatMap(([name, field]) => {
    const known = { ...resolve(api, field), ...field };
    const row: FieldRow = {
      name: prefix + name,
      type: typeOf(api, field) + limitsOf(known),
      description: known.description ?? "",
      isRequired: object.required?.includes(name) ?? false,
    };
    const inner = objectIn(api, field);
    if (!inner || depth >= MAX_DEPTH) return [row];
    return [row, ...rowsOf(api, inner.schema, `${prefix}${name}${inner.isList ? "[]" : ""}.`, depth + 1)];
  });
}

function objectIn(api: OpenApiDocument, field: Schema): { schema: Schema; isList: boolean } | null {
  const found = resolve(api, field);
  if (found.properties) return { schema: found, isList: false };
  if (found.items) {
    const inner = objectIn(api, found.items);
    return inner && { ...inner, isList: true };
  }
  for (const choice of found.anyOf ?? found.oneOf ?? []) {
    const inner = objectIn(api, choice);
    if (inner) return inner;
  }
  return null;
}

export function typeOf(api: OpenApiDocument, schema: Schema | undefined): string {
  const found = resolve(api, schema);
  if (found.enum) return found.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (found.const !== undefined) return JSON.stringify(found.const);
  const choices = found.anyOf ?? found.oneOf;
  if (choices) return [...new Set(choices.map((choice) => typeOf(api, choice)))].join(" | ");
  if (found.items) return `list of ${typeOf(api, found.items)}`;
  return found.type ?? "any";
}

function limitsOf(schema: Schema): string {
  const parts = [];
  if (schema.minimum !== undefined || schema.maximum !== undefined) {
    parts.push(`${schema.minimum ?? ""}…${schema.maximum ?? ""}`);
  }
  if (schema.default !== undefined) parts.push(`default ${JSON.stringify(schema.default)}`);
  return parts.length ? `, ${parts.join(", ")}` : "";
}

export function fieldsTable(rows: FieldRow[]): HTMLElement {
  if (!rows.length) return element("p", { class: "hint" }, "No fields.");
  const body = rows.map(({ name, type, description, isRequired }) => {
    const first = element("td", {}, element("code", {}, name), isRequired ? " (required)" : "");
    if (type) first.append(element("div", { class: "hint" }, type));
    return element("tr", {}, first, element("td", {}, ...richText(description)));
  });
  return element("table", {}, element("tbody", {}, ...body));
}

/** Return paragraphs with `code` marked; nothing else of Markdown occurs. */
export function richText(text: string): HTMLElement[] {
  if (!text) return [];
  return text.split(/\n\s*\n/).map((paragraph) => {
    const parts = paragraph.split("`").map((part, position) => (position % 2 ? element("code", {}, part) : part));
    return element("p", {}, ...parts);
  });
}
