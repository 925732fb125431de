// Build the page into a folder (service/page/static by default). The same sources give the same bytes.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const root = dirname(fileURLToPath(import.meta.url));
const output = process.argv[2] ?? join(root, "..", "service", "page", "static");
const sources = join(root, "src");

rmSync(output, { recursive: true, force: true });
mkdirSync(output, { recursive: true });
buildSync({
  absWorkingDir: root,
  entryPoints: ["src/page.ts", "src/docs.ts", "src/page.css"],
  outdir: output,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
});
for (const name of ["index.html", "docs.html", "icon.svg"]) copyFileSync(join(sources, name), join(output, name));

// tests/service/page compares this hash with the sources, so that a stale build is noticed without npm.
const hash = createHash("sha256");
for (const path of ["build.mjs", "package-lock.json", ...readdirSync(sources).sort().map((name) => `src/${name}`)]) {
  hash.update(path).update("\0").update(readFileSync(join(root, path))).update("\0");
}
writeFileSync(join(output, "sources.sha256"), `${hash.digest("hex")}\n`);
