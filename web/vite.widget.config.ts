// The page as a module for notebooks, style sheets and all. Each time it is shown it is a page of its own: what its files
// keep is inside one function, which is called anew for each place.
import { defineConfig, type Plugin } from "vite";
import { licences } from "./vite.config.ts";

function onePageEach(): Plugin {
  return {
    name: "one-page-each",
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle))
        if (file.type === "chunk")
          file.code = `const page = () => {\n${file.code}\nreturn prosector;\n};\nexport default { render: (context) => page().render(context) };\n`;
    },
  };
}

export default defineConfig({
  publicDir: false,
  plugins: [onePageEach(), licences()],
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    target: "es2022",
    outDir: "../src/prosector/explain/static",
    emptyOutDir: false,
    lib: { entry: "src/widget.tsx", formats: ["iife"], name: "prosector", fileName: () => "widget.js" },
  },
});
