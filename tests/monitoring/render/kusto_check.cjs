// Reads KQL with the language service of Kusto: tables and a query in, diagnostics and a syntax tree out, as JSON.
//
//   {"tables": {"customEvents": {"timestamp": "datetime", …}}, "query": "customEvents | count"}
//   {"diagnostics": ["'nothing' …"], "tree": {"type": "QueryBlock", "children": […]}}

"use strict";

const folder = process.argv[2];
const service = require("node:path").join(folder, "node_modules", "@kusto", "language-service-next");
require(`${service}/bridge.min.js`);
require(`${service}/Kusto.Language.Bridge.min.js`);

const { Symbols } = Kusto.Language;
const TYPES = {
  bool: Symbols.ScalarTypes.Bool,
  datetime: Symbols.ScalarTypes.DateTime,
  dynamic: Symbols.ScalarTypes.Dynamic,
  int: Symbols.ScalarTypes.Int,
  long: Symbols.ScalarTypes.Long,
  real: Symbols.ScalarTypes.Real,
  string: Symbols.ScalarTypes.String,
};

function table(name, columns) {
  const made = Object.entries(columns).map(([column, type]) => new Symbols.ColumnSymbol(column, TYPES[type]));
  return new Symbols.TableSymbol.$ctor4(name, made);
}

/** The node with the property of its parent that holds it, and the text of tokens. */
function tree(node) {
  if (node === null || node === undefined) return null;
  const made = { type: Bridge.getTypeName(node).split(".").pop(), name: node.NameInParent || "" };
  if (node.ChildCount === 0) made.text = node.ToString(0);
  else {
    made.children = [];
    for (let place = 0; place < node.ChildCount; place += 1) made.children.push(tree(node.GetChild(place)));
  }
  return made;
}

/** One question a line, one answer a line. The process ends with its input. */
const lines = require("node:readline").createInterface({ input: process.stdin, terminal: false });
lines.on("line", (line) => {
  const asked = JSON.parse(line);
  const tables = Object.entries(asked.tables).map(([name, columns]) => table(name, columns));
  const database = new Symbols.DatabaseSymbol.$ctor3("logs", null, tables, false);
  const globals = Kusto.Language.GlobalState.Default.WithDatabase(database);
  const code = Kusto.Language.KustoCode.ParseAndAnalyze(asked.query, globals);
  const diagnostics = [];
  const all = code.GetDiagnostics();
  for (let place = 0; place < all.Count; place += 1) diagnostics.push(all.getItem(place).Message);
  process.stdout.write(`${JSON.stringify({ diagnostics, tree: tree(code.Syntax) })}\n`);
});
