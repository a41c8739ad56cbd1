// Writes what the licences of everything inside the executable ask to be said with it: each licence's text once, under the names
// of those it belongs to. `node scripts/notices.mjs FILE FEATURES` (those of the server half); the crates are those of both halves,
// on Linux and in the browser.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { inflateRawSync } from "node:zlib";

const halves = [
    [process.argv[3], "x86_64-unknown-linux-gnu"],
    ["hydrate", "wasm32-unknown-unknown"],
];

/** Needed to build alone, and inside all the same: an archive that the build unpacks into the executable. */
const unpacked = new Set(["utoipa-swagger-ui-vendored"]);

/** The packages that a half is made of: what is only needed to build or to test it is not in it. */
function packagesOf([features, target]) {
    const told = execFileSync(
        "cargo",
        ["metadata", "--format-version=1", "--locked", "--features", features, "--filter-platform", target],
        { encoding: "utf8", maxBuffer: 1 << 28 },
    );
    const { packages, resolve } = JSON.parse(told);
    const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
    const isUnpacked = new Set(packages.filter(({ name }) => unpacked.has(name)).map(({ id }) => id));
    const reached = new Set();
    const queue = [resolve.root];
    while (queue.length > 0) {
        const id = queue.pop();
        if (reached.has(id)) continue;
        reached.add(id);
        for (const { pkg, dep_kinds } of nodes.get(id).deps) {
            if (isUnpacked.has(pkg) || dep_kinds.some(({ kind }) => kind === null)) queue.push(pkg);
        }
    }
    return packages.filter(({ id, source }) => reached.has(id) && source !== null);
}

const isNotice = (name) => /^(licen[cs]e|copying|copyright|notice|unlicense)/i.test(name);

function textsIn(folder) {
    const names = readdirSync(folder).filter((name) => isNotice(name) && statSync(join(folder, name)).isFile());
    return names.map((name) => readFileSync(join(folder, name), "utf8").replaceAll("\r\n", "\n").trim());
}

/** The files at the top of an archive (zip) that are notices, by the name of its folder. */
function textsInArchive(path) {
    const bytes = readFileSync(path);
    const texts = [];
    const end = bytes.lastIndexOf(Buffer.from("PK\x05\x06"));
    let at = bytes.readUInt32LE(end + 16);
    for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
        const [method, size] = [bytes.readUInt16LE(at + 10), bytes.readUInt32LE(at + 20)];
        const [name, extra, comment] = [28, 30, 32].map((field) => bytes.readUInt16LE(at + field));
        const whole = bytes.toString("utf8", at + 46, at + 46 + name);
        const [folder, file, ...below] = whole.split("/");
        if (file && below.length === 0 && isNotice(file)) {
            const local = bytes.readUInt32LE(at + 42);
            const from = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
            const packed = bytes.subarray(from, from + size);
            texts.push([folder, (method === 0 ? packed : inflateRawSync(packed)).toString("utf8").trim()]);
        }
        at += 46 + name + extra + comment;
    }
    if (texts.length === 0) throw new Error(`${basename(path)} has no licence in it`);
    return texts;
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
        if (!unpacked.has(name)) continue;
        const folder = join(dirname(manifest_path), "res");
        for (const archive of readdirSync(folder).filter((file) => file.endsWith(".zip"))) {
            for (const [owner, text] of textsInArchive(join(folder, archive))) {
                names.set(owner, "see its text");
                belongsTo.set(text, [...new Set([...(belongsTo.get(text) ?? []), owner])]);
            }
        }
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
