// How the dashboard is built: into the Python package, file names without hashes (the server sends ETags), paths
// relative to each file, so that it works below any prefix.
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { licenses } from "./scripts/licenses.ts";
import { plotLocale } from "./scripts/plot-locale.ts";

export default defineConfig({
  base: "./",
  plugins: [react(), tailwindcss(), licenses(), plotLocale()],
  build: {
    outDir: "../src/tenure/server/static",
    emptyOutDir: true,
    target: "es2022",
    // Small files as data: URLs would need other rules in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    chunkSizeWarningLimit: 400,
    rolldownOptions: {
      output: {
        entryFileNames: "assets/[name].js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
        // One file for what every page needs, so that a page is one request more and not ten.
        codeSplitting: {
          groups: [
            { name: "libraries", test: /node_modules\/(?!uplot)/ },
            { name: "plot-library", test: /node_modules\/uplot/ },
            { name: "shared", test: /src\/(api|format|live|shell|words|parts\/(?!plot|json-view)|queues\/queue-columns)/ },
          ],
        },
      },
    },
  },
  server: {
    // `make dashboard-dev`: pages from Vite, data from `tenure serve` beside it.
    host: "127.0.0.1",
    port: 5383,
    strictPort: true,
    proxy: { "/api": process.env["TENURE_SERVER"] ?? "http://127.0.0.1:8383" },
  },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
} as Parameters<typeof defineConfig>[0]);
