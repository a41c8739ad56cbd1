// Writes the licence texts of all third-party code in the binary: each text once, under the names
// of its packages. It covers the crates of the server half on Linux, with the given features, and
// those of the browser half. `node scripts/third-party-licenses.mjs FILE FEATURES`
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { inflateRawSync } from "node:zlib";

const halves = [
    [process.argv[3], "x86_64-unknown-linux-gnu"],
    ["hydrate", "wasm32-unknown-unknown"],
];

/**
 * Build dependencies whose content is part of the binary: the build unpacks their archive into it.
 */
const unpackedByBuild = new Set(["utoipa-swagger-ui-vendored"]);

/** The packages that are compiled into a half, without build and development dependencies. */
function packagesOf([features, target]) {
    const output = execFileSync(
        "cargo",
        ["metadata", "--format-version=1", "--locked", "--features", features, "--filter-platform", target],
        { encoding: "utf8", maxBuffer: 1 << 28 },
    );
    const { packages, resolve } = JSON.parse(output);
    const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
    const unpackedIds = new Set(packages.filter(({ name }) => unpackedByBuild.has(name)).map(({ id }) => id));
    const reached = new Set();
    const queue = [resolve.root];
    while (queue.length > 0) {
        const id = queue.pop();
        if (reached.has(id)) continue;
        reached.add(id);
        for (const { pkg, dep_kinds } of nodes.get(id).deps) {
            if (unpackedIds.has(pkg) || dep_kinds.some(({ kind }) => kind === null)) queue.push(pkg);
        }
    }
    return packages.filter(({ id, source }) => reached.has(id) && source !== null);
}

const isNotice = (name) => /^(licen[cs]e|copying|copyright|notice|unlicense)/i.test(name);

function readNotices(directory) {
    const names = readdirSync(directory).filter((name) => isNotice(name) && statSync(join(directory, name)).isFile());
    return names.map((name) => readFileSync(join(directory, name), "utf8").replaceAll("\r\n", "\n").trim());
}

/**
 * The notices in the top-level directories of a zip archive, as pairs of directory name and text.
 */
function readNoticesInArchive(path) {
    const bytes = readFileSync(path);
    const texts = [];
    const end = bytes.lastIndexOf(Buffer.from("PK\x05\x06"));
    let entry = bytes.readUInt32LE(end + 16);
    for (let remaining = bytes.readUInt16LE(end + 10); remaining > 0; remaining--) {
        const [method, size] = [bytes.readUInt16LE(entry + 10), bytes.readUInt32LE(entry + 20)];
        const [nameLength, extraLength, commentLength] = [28, 30, 32].map((field) => bytes.readUInt16LE(entry + field));
        const path = bytes.toString("utf8", entry + 46, entry + 46 + nameLength);
        const [directory, file, ...below] = path.split("/");
        if (file && below.length === 0 && isNotice(file)) {
            const header = bytes.readUInt32LE(entry + 42);
            const start = header + 30 + bytes.readUInt16LE(header + 26) + bytes.readUInt16LE(header + 28);
            const data = bytes.subarray(start, start + size);
            texts.push([directory, (method === 0 ? data : inflateRawSync(data)).toString("utf8").trim()]);
        }
        entry += 46 + nameLength + extraLength + commentLength;
    }
    if (texts.length === 0) throw new Error(`${basename(path)} contains no licence`);
    return texts;
}

/** The packages of each licence text. */
const packagesByText = new Map();
/** The licence of each package. */
const licences = new Map();
const withoutText = [];
function addPackage(name, licence, directory) {
    if (licences.has(name)) return;
    licences.set(name, licence);
    const texts = readNotices(directory);
    if (texts.length === 0) withoutText.push(`${name}: ${licence}`);
    for (const text of texts) packagesByText.set(text, [...(packagesByText.get(text) ?? []), name]);
}

for (const half of halves) {
    for (const { name, version, license, manifest_path } of packagesOf(half)) {
        addPackage(`${name} ${version}`, license ?? "see its text", dirname(manifest_path));
        if (!unpackedByBuild.has(name)) continue;
        const directory = join(dirname(manifest_path), "res");
        for (const archive of readdirSync(directory).filter((file) => file.endsWith(".zip"))) {
            for (const [owner, text] of readNoticesInArchive(join(directory, archive))) {
                licences.set(owner, "see its text");
                packagesByText.set(text, [...new Set([...(packagesByText.get(text) ?? []), owner])]);
            }
        }
    }
}
const tailwind = JSON.parse(readFileSync("node_modules/tailwindcss/package.json", "utf8"));
addPackage(`tailwindcss ${tailwind.version}`, tailwind.license, "node_modules/tailwindcss");

const line = "=".repeat(100);
const parts = [
    "Lockkeeper contains third-party software. These are its licences. For packages with several alternative licences, all texts are included.",
    [...licences].sort().map(([name, licence]) => `${name}: ${licence}`).join("\n"),
    ...[...packagesByText]
        .sort(([, first], [, second]) => first[0].localeCompare(second[0]))
        .map(([text, owners]) => `${line}\n${owners.sort().join(", ")}\n${line}\n\n${text}`),
];
if (withoutText.length > 0) {
    parts.push(`${line}\nPackages without a licence text, with the licence that they declare:\n${withoutText.sort().join("\n")}`);
}
writeFileSync(process.argv[2], `${parts.join("\n\n")}\n`);
console.log(`${licences.size} packages, ${packagesByText.size} texts, ${withoutText.length} packages without a text`);
