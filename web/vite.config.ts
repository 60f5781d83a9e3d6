// One classic script and one style sheet: they work from a file too, where browsers load no modules.
import { defineConfig } from "vite";

export default defineConfig({
  publicDir: false,
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    target: "es2022",
    outDir: "../src/prosector/explain/static",
    emptyOutDir: true,
    lib: {
      entry: "src/main.tsx",
      formats: ["iife"],
      name: "prosector",
      fileName: () => "explain.js",
      cssFileName: "explain",
    },
  },
});
