// Writes what the licences of everything inside the executable ask to be said with it: each licence's text once, under the names
// of those it belongs to. `node scripts/notices.mjs FILE FEATURES` (those of the server half); the crates are those of both halves,
// on Linux and in the browser.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const halves = [
    [process.argv[3], "x86_64-unknown-linux-gnu"],
    ["hydrate", "wasm32-unknown-unknown"],
];

/** The packages that a half is made of: what is only needed to build or to test it is not in it. */
function packagesOf([features, target]) {
    const told = execFileSync(
        "cargo",
        ["metadata", "--format-version=1", "--locked", "--features", features, "--filter-platform", target],
        { encoding: "utf8", maxBuffer: 1 << 28 },
    );
    const { packages, resolve } = JSON.parse(told);
    const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
    const reached = new Set();
    const queue = [resolve.root];
    while (queue.length > 0) {
        const id = queue.pop();
        if (reached.has(id)) continue;
        reached.add(id);
        for (const { pkg, dep_kinds } of nodes.get(id).deps) {
            if (dep_kinds.some(({ kind }) => kind === null)) queue.push(pkg);
        }
    }
    return packages.filter(({ id, source }) => reached.has(id) && source !== null);
}

const isNotice = (name) => /^(licen[cs]e|copying|copyright|notice|unlicense)/i.test(name);

function textsIn(folder) {
    const names = readdirSync(folder).filter((name) => isNotice(name) && statSync(join(folder, name)).isFile());
    return names.map((name) => readFileSync(join(folder, name), "utf8").replaceAll("\r\n", "\n").trim());
}

const belongsTo = new Map();
const names = new Map();
const silent = [];
function add(name, licence, folder) {
    if (names.has(name)) return;
    names.set(name, licence);
    const texts = textsIn(folder);
    if (texts.length === 0) silent.push(`${name}: ${licence}`);
    for (const text of texts) belongsTo.set(text, [...(belongsTo.get(text) ?? []), name]);
}

for (const half of halves) {
    for (const { name, version, license, manifest_path } of packagesOf(half)) {
        add(`${name} ${version}`, license ?? "see its text", dirname(manifest_path));
    }
}
const tailwind = JSON.parse(readFileSync("node_modules/tailwindcss/package.json", "utf8"));
add(`tailwindcss ${tailwind.version}`, tailwind.license, "node_modules/tailwindcss");

const line = "=".repeat(100);
const parts = [
    "Lockkeeper is made with the work of others. These are their licences; where several are offered, all of their texts are here.",
    [...names].sort().map(([name, licence]) => `${name}: ${licence}`).join("\n"),
    ...[...belongsTo]
        .sort(([, one], [, other]) => one[0].localeCompare(other[0]))
        .map(([text, owners]) => `${line}\n${owners.sort().join(", ")}\n${line}\n\n${text}`),
];
if (silent.length > 0) {
    parts.push(`${line}\nPublished without a text of their own, under the licence that they name:\n${silent.sort().join("\n")}`);
}
writeFileSync(process.argv[2], `${parts.join("\n\n")}\n`);
console.log(`${names.size} packages, ${belongsTo.size} texts, ${silent.length} without one`);
