// Joins screenshots into an animated PNG. It needs no video encoder, and GitHub shows it in a
// README like any image.
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

function encodeChunk({ type, data }: Chunk): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const lengthAndChecksum = Buffer.alloc(8);
  lengthAndChecksum.writeUInt32BE(data.length, 0);
  lengthAndChecksum.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([lengthAndChecksum.subarray(0, 4), body, lengthAndChecksum.subarray(4)]);
}

const uint32 = (...values: number[]) => {
  const buffer = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => buffer.writeUInt32BE(value, index * 4));
  return buffer;
};

/** A frame of an animation and how long it is shown. */
export interface Frame {
  png: Buffer;
  ms: number;
}

/** Encodes frames of equal size as an endlessly repeated animation. */
export function animatedPng(frames: Frame[]): Buffer {
  const images = frames.map(({ png }) => [...chunks(png)]);
  const header = images[0].find(({ type }) => type === 'IHDR')!;
  if (images.some((image) => !image.find(({ type }) => type === 'IHDR')!.data.equals(header.data))) {
    throw new Error('all frames must have the same size and colour type');
  }
  const size = header.data.subarray(0, 8);
  let sequence = 0;
  const encoded = images.flatMap((image, index) => {
    const { ms } = frames[index];
    const control = Buffer.concat([uint32(sequence++), size, uint32(0, 0), Buffer.from([ms >> 8, ms & 255, 1000 >> 8, 1000 & 255, 0, 0])]);
    const packed = Buffer.concat(image.filter(({ type }) => type === 'IDAT').map(({ data }) => data));
    const data = deflateSync(inflateSync(packed), { level: 9, memLevel: 9 });
    const frame = index === 0 ? { type: 'IDAT', data } : { type: 'fdAT', data: Buffer.concat([uint32(sequence++), data]) };
    return [{ type: 'fcTL', data: control }, frame];
  });
  const all = [header, { type: 'acTL', data: uint32(frames.length, 0) }, ...encoded, { type: 'IEND', data: Buffer.alloc(0) }];
  return Buffer.concat([SIGNATURE, ...all.map(encodeChunk)]);
}
