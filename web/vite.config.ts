// One classic script and one style sheet: they work from a file too, where browsers load no modules.
import { existsSync, readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

/** What was bundled from others, with their licences, at the head of the script, as these ask for. */
export function licences(): Plugin {
  return {
    name: "licences",
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== "chunk") continue;
        const packages = Object.keys(file.modules).map((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
        const texts = new Map<string, string[]>();
        for (const folder of [...new Set(packages)].filter((found) => found !== undefined).sort()) {
          const path = ["LICENSE", "LICENSE.md", "LICENSE.txt"].map((name) => `${folder}/${name}`).find(existsSync);
          if (!path) throw new Error(`${folder} has no licence to be told`);
          const text = readFileSync(path, "utf-8").trim();
          texts.set(text, [...(texts.get(text) ?? []), folder.split("/node_modules/").at(-1) ?? ""]);
        }
        const notices = [...texts].map(([text, names]) => `${names.join(", ")}:\n\n${text}`);
        file.code = `/*!\nThe page of Prosector. In it are\n\n${notices.join("\n\n")}\n*/\n${file.code}`;
      }
    },
  };
}

export default defineConfig({
  publicDir: false,
  plugins: [licences()],
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
