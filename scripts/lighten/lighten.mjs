// Empties the functions that no page ever calls, in a program that is linked and not cut yet.
//
// Leptos keeps, beside each kind of view and of attribute, a pointer to each function that somebody could need. No compiler can
// see through a pointer that nobody does, and with all that those functions need they are a twelfth of the first page's program.
// What is emptied traps if it is called after all, and what only it needed is left out when the program is cut.
import { readFileSync, writeFileSync } from "node:fs";

const NEVER_CALLED = [
    // Wakes a view up while its parts are being fetched: these pages fetch what they need before they wake up (`ui/later`).
    /IntoAny\$GT\$8into_any13hydrate_async17h[0-9a-f]{16}E$/,
    // Wakes up what came out of a `template!`, which these pages do not use.
    /IntoAnyAttribute\$GT\$13into_any_attr21hydrate_from_template17h[0-9a-f]{16}E$/,
    // Copies an attribute that a component is given from outside (`attr:`, `{..}`), which no component of these pages is.
    /IntoAnyAttribute\$GT\$13into_any_attr5clone17h[0-9a-f]{16}E$/,
];

const [file] = process.argv.slice(2);
const bytes = readFileSync(file);

/** Reads an unsigned LEB128 number: the number, and where the next byte is. */
const number = (at) => {
    for (let value = 0, factor = 1; ; factor *= 128) {
        const byte = bytes[at++];
        value += (byte & 127) * factor;
        if (byte < 128) return [value, at];
    }
};
const written = (value) => {
    const out = [];
    for (; value > 127; value = Math.floor(value / 128)) out.push((value & 127) | 128);
    return Buffer.from([...out, value]);
};
const text = (at) => {
    const [length, from] = number(at);
    return [bytes.toString("utf8", from, from + length), from + length];
};

/** Every section: its id, a custom one's name, where it begins, where its content does, and where it ends. */
const sections = [];
for (let at = 8; at < bytes.length; ) {
    const [size, content] = number(at + 1);
    const name = bytes[at] === 0 ? text(content)[0] : "";
    sections.push({ id: bytes[at], name, start: at, content, end: content + size });
    at = content + size;
}
const section = (id, name = "") => {
    const found = sections.find((one) => one.id === id && one.name === name);
    if (!found) throw new Error(`${file} has no section ${id} ${name}`);
    return found;
};

/** How many functions come from elsewhere: those of the program are counted on from there. */
function imported() {
    let [count, at] = number(section(2).content);
    let functions = 0;
    const limits = (at) => {
        const flags = bytes[at];
        [, at] = number(at + 1);
        return flags & 1 ? number(at)[1] : at;
    };
    while (count--) {
        [, at] = text(at);
        [, at] = text(at);
        const kind = bytes[at++];
        if (kind === 0) functions += 1;
        if (kind === 0) [, at] = number(at);
        else if (kind === 1) at = limits(at + 1);
        else if (kind === 2) at = limits(at);
        else if (kind === 3) at += 2;
        else throw new Error(`an import of an unknown kind: ${kind}`);
    }
    return functions;
}

/** The numbers of the functions that are never called. */
function neverCalled() {
    const numbers = new Set();
    const met = new Set();
    const { content, end } = section(0, "name");
    for (let [, at] = text(content); at < end; ) {
        const kind = bytes[at];
        const [size, from] = number(at + 1);
        if (kind === 1) {
            let [count, entry] = number(from);
            while (count--) {
                const [nth, nameAt] = number(entry);
                const [name, next] = text(nameAt);
                const which = NEVER_CALLED.findIndex((one) => one.test(name));
                if (which >= 0) {
                    numbers.add(nth);
                    met.add(which);
                }
                entry = next;
            }
        }
        at = from + size;
    }
    const unmet = NEVER_CALLED.filter((_, which) => !met.has(which));
    if (unmet.length > 0) throw new Error(`${file} has no ${unmet.join(", no ")}: is it named otherwise now?`);
    return numbers;
}

const wanted = neverCalled();

// `unreachable`, then as many `nop` as keep every other function where it is.
const emptied = [];
const code = section(10);
const first = imported();
let [functions, at] = number(code.content);
for (let nth = first; nth < first + functions; nth += 1) {
    const [size, body] = number(at);
    at = body + size;
    if (wanted.has(nth)) {
        bytes.fill(1, body, at);
        bytes.set([0, 0], body);
        bytes[at - 1] = 0x0b;
        emptied.push([body - code.content, at - code.content]);
    }
}

// What they pointed at is what the tool that cuts the program goes by.
const HAVE_ADDEND = new Set([3, 4, 5, 8, 9, 11, 14, 15, 16, 17, 21, 22, 23, 25]);
const relocations = section(0, "reloc.CODE");
const [ofSection, fromCount] = number(text(relocations.content)[1]);
let [entries, entry] = number(fromCount);
const kept = [];
let next = 0;
while (entries--) {
    const begin = entry;
    const [offset, index] = number(begin + 1);
    [, entry] = number(index);
    if (HAVE_ADDEND.has(bytes[begin])) [, entry] = number(entry);
    // Both lists go up.
    while (next < emptied.length && emptied[next][1] <= offset) next += 1;
    const isGone = next < emptied.length && emptied[next][0] <= offset;
    if (!isGone) kept.push(bytes.subarray(begin, entry));
}
const name = bytes.subarray(relocations.content, text(relocations.content)[1]);
const content = Buffer.concat([name, written(ofSection), written(kept.length), ...kept]);
writeFileSync(
    file,
    Buffer.concat([
        bytes.subarray(0, relocations.start),
        Buffer.from([0]),
        written(content.length),
        content,
        bytes.subarray(relocations.end),
    ]),
);
