// A film out of pictures: an animated PNG, which needs no encoder, and which READMEs show like any picture.
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

interface Chunk {
  type: string;
  data: Buffer;
}

function* chunks(png: Buffer): Generator<Chunk> {
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    yield { type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) };
    at += 12 + length;
  }
}

function written({ type, data }: Chunk): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

const numbers = (...given: number[]) => {
  const out = Buffer.alloc(given.length * 4);
  given.forEach((number, nth) => out.writeUInt32BE(number, nth * 4));
  return out;
};

/** One picture of a film, and how long it stands. */
export interface Still {
  png: Buffer;
  ms: number;
}

/** Pictures of one size, one after the other, for ever. */
export function film(stills: Still[]): Buffer {
  const parts = stills.map(({ png }) => [...chunks(png)]);
  const header = parts[0].find(({ type }) => type === 'IHDR')!;
  if (parts.some((part) => !part.find(({ type }) => type === 'IHDR')!.data.equals(header.data))) throw new Error('pictures of one size and kind are wanted');
  const size = header.data.subarray(0, 8);
  let turn = 0;
  const frames = parts.flatMap((part, nth) => {
    const { ms } = stills[nth];
    const control = Buffer.concat([numbers(turn++), size, numbers(0, 0), Buffer.from([ms >> 8, ms & 255, 1000 >> 8, 1000 & 255, 0, 0])]);
    const packed = Buffer.concat(part.filter(({ type }) => type === 'IDAT').map(({ data }) => data));
    const data = deflateSync(inflateSync(packed), { level: 9, memLevel: 9 });
    const picture = nth === 0 ? { type: 'IDAT', data } : { type: 'fdAT', data: Buffer.concat([numbers(turn++), data]) };
    return [{ type: 'fcTL', data: control }, picture];
  });
  const whole = [header, { type: 'acTL', data: numbers(stills.length, 0) }, ...frames, { type: 'IEND', data: Buffer.alloc(0) }];
  return Buffer.concat([SIGNATURE, ...whole.map(written)]);
}
