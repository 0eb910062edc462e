// uPlot asks the browser's language for how to write numbers when it is loaded, and fails where that is no language:
// a Chromium with LANG=C says "en-US@posix". The page writes its numbers itself, as everywhere: in en-GB.
import type { Plugin } from "vite";

const ASKED = "domEnv ? nav.language : 'en-US'";

export function plotLocale(): Plugin {
  return {
    name: "plot-locale",
    transform(code, id) {
      if (!id.endsWith("uPlot.esm.js")) return null;
      if (!code.includes(ASKED)) throw new Error("uPlot no longer asks for the language here: look whether plot-locale is still needed");
      return { code: code.replace(ASKED, '"en-GB"'), map: null };
    },
  };
}
