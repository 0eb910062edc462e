// The licences of everything that is bundled, beside the bundle: THIRD-PARTY-LICENSES.txt.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Plugin } from "vite";

/** The folder of the package that a module belongs to. */
function packageOf(module: string): string | null {
  if (!module.includes("/node_modules/")) return null;
  for (let folder = dirname(module.replace(/^\0/, "").split("?")[0]!); folder.includes("/node_modules/"); folder = dirname(folder)) {
    const file = join(folder, "package.json");
    if (existsSync(file) && JSON.parse(readFileSync(file, "utf8")).version) return folder;
  }
  return null;
}

export function licenses(): Plugin {
  const folders = new Set<string>();
  return {
    name: "licenses",
    apply: "build",
    generateBundle(_, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== "chunk") continue;
        for (const module of chunk.moduleIds) {
          const folder = packageOf(module);
          if (folder) folders.add(folder);
        }
      }
      // Tailwind's reset is in the style sheet, which has no list of its modules.
      for (const name of ["tailwindcss", "uplot"]) folders.add(join(import.meta.dirname, "../node_modules", name));
      const texts = [...folders].map((folder) => {
        const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
        const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
        const text = file ? readFileSync(join(folder, file), "utf8").replace(/\r\n/g, "\n").trim() : `Licence: ${license}`;
        return { title: `${name} ${version} (${license})`, text };
      });
      const all = [...new Map(texts.map((one) => [one.title, one])).values()].sort((one, other) => (one.title < other.title ? -1 : 1));
      const source = `The dashboard of Tenure contains these packages.\n${all.map((one) => `\n${"=".repeat(80)}\n${one.title}\n${"=".repeat(80)}\n\n${one.text}\n`).join("")}`;
      this.emitFile({ type: "asset", fileName: "THIRD-PARTY-LICENSES.txt", source });
    },
  };
}
