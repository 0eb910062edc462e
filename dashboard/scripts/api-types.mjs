// From the OpenAPI document to TypeScript: one interface for each schema. `--check` fails where the file is another one.
//
// node scripts/api-types.mjs ../docs/reference/openapi.json src/api/schema.ts
import { readFileSync, writeFileSync } from "node:fs";

const [source, target, mode] = process.argv.slice(2);
const { components } = JSON.parse(readFileSync(source, "utf8"));
const names = Object.keys(components.schemas).sort();

const nameOf = (name) => name.replace(/[^A-Za-z0-9_]/g, "_");

function typeOf(schema, depth = 0) {
  if (schema === true || schema === undefined || Object.keys(schema).length === 0) return "unknown";
  if (schema.$ref) return nameOf(schema.$ref.split("/").pop());
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  const any = schema.anyOf ?? schema.oneOf;
  if (any) return [...new Set(any.map((one) => typeOf(one, depth)))].join(" | ");
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type }, depth)).join(" | ");
  switch (schema.type) {
    case "null": return "null";
    case "string": return "string";
    case "integer": case "number": return "number";
    case "boolean": return "boolean";
    case "array": {
      if (schema.prefixItems) return `[${schema.prefixItems.map((one) => typeOf(one, depth)).join(", ")}]`;
      const item = typeOf(schema.items, depth);
      return /[ |]/.test(item) ? `(${item})[]` : `${item}[]`;
    }
    case "object": {
      if (schema.properties) return body(schema, depth);
      const value = schema.additionalProperties;
      return `Record<string, ${value === undefined ? "unknown" : typeOf(value, depth)}>`;
    }
  }
  return "unknown";
}

function body(schema, depth = 0) {
  const pad = "  ".repeat(depth + 1);
  const required = new Set(schema.required ?? []);
  const lines = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const text = field.description ? `${pad}/** ${field.description.replaceAll("*/", "* /").replace(/\s+/g, " ")} */\n` : "";
    return `${text}${pad}${/^\w+$/.test(name) ? name : JSON.stringify(name)}${required.has(name) ? "" : "?"}: ${typeOf(field, depth + 1)};`;
  });
  return `{\n${lines.join("\n")}\n${"  ".repeat(depth)}}`;
}

const parts = names.map((name) => {
  const schema = components.schemas[name];
  const text = schema.description ? `/** ${schema.description.split("\n\n")[0].replace(/\s+/g, " ").replaceAll("*/", "* /")} */\n` : "";
  const type = schema.type === "object" && schema.properties
    ? `export interface ${nameOf(name)} ${body(schema)}`
    : `export type ${nameOf(name)} = ${typeOf(schema)};`;
  return text + type;
});
const made = `// Generated from docs/reference/openapi.json by scripts/api-types.mjs: \`make dashboard\` writes it.\n\n${parts.join("\n\n")}\n`;
if (mode === "--check") {
  if (readFileSync(target, "utf8") !== made) {
    console.error(`${target} is not of ${source}: run make dashboard.`);
    process.exit(1);
  }
} else writeFileSync(target, made);
