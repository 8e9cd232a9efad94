import { crc32 } from 'node:zlib';
import { MemorySave } from '../testing/memory-save.ts';
import { type SaveLook, verifySave } from './verify-save.ts';

type Entries = Readonly<Record<string, unknown>>;

/** A file as safetensors writes it: length, header, and `dataBytes` of tensors. */
function file(entries: Entries, dataBytes: number): Uint8Array {
  const header = Buffer.from(JSON.stringify(entries));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Uint8Array.from(Buffer.concat([length, header, Buffer.alloc(dataBytes)]));
}

/** Lists within each other. */
const nested = (depth: number): unknown => (depth === 0 ? 0 : [nested(depth - 1)]);

const tensor = (shape: readonly number[], from: number, to: number, dtype = 'F32'): Entries => ({
  dtype,
  shape,
  data_offsets: [from, to],
});
const index = (map: Entries, totalBytes?: number): Uint8Array =>
  Uint8Array.from(Buffer.from(JSON.stringify({ metadata: { total_size: totalBytes }, weight_map: map })));
const sharded = (offsets: Readonly<Record<string, readonly number[]>>): Entries => ({
  DCP_SHARDING_INFO: JSON.stringify(
    Object.fromEntries(Object.entries(offsets).map(([key, at]) => [key, { saved_offsets: at }])),
  ),
});
const look = (files: Readonly<Record<string, Uint8Array>>): SaveLook => {
  const save = new MemorySave(files);
  return save.run(verifySave(save.list(), { level: 'V1', crc32 }));
};

describe('weights in safetensors', () => {
  it.each<
    [
      what: string,
      verdict: SaveLook['verdict'],
      sentence: RegExp | undefined,
      files: Readonly<Record<string, Uint8Array>>,
    ]
  >([
    ['in one file are sound', 'sound', undefined, { 'model.safetensors': file({ w: tensor([2, 3], 0, 24) }, 24) }],
    [
      'in two files with an index are sound',
      'sound',
      undefined,
      {
        'model.safetensors.index.json': index({ a: '1.safetensors', b: '2.safetensors' }),
        '1.safetensors': file({ a: tensor([2], 0, 4, 'BF16') }, 4),
        '2.safetensors': file({ b: tensor([], 0, 8, 'I64') }, 8),
      },
    ],
    [
      'without one of their files are incomplete',
      'incomplete',
      /File 2\.safetensors is not there; the index names it/,
      {
        'model.safetensors.index.json': index({ a: '1.safetensors', b: '2.safetensors' }),
        '1.safetensors': file({ a: tensor([1], 0, 4) }, 4),
      },
    ],
    [
      'whose file lacks a tensor of the index are damaged',
      'damaged',
      /does not hold tensor b/,
      {
        'model.safetensors.index.json': index({ a: '1.safetensors', b: '1.safetensors' }),
        '1.safetensors': file({ a: tensor([1], 0, 4) }, 4),
      },
    ],
    [
      'whose file lacks all tensors of the index are damaged',
      'damaged',
      /File 2\.safetensors does not hold tensor b/,
      {
        'model.safetensors.index.json': index({ a: '1.safetensors', b: '2.safetensors' }),
        '1.safetensors': file({ a: tensor([1], 0, 4) }, 4),
        '2.safetensors': file({}, 0),
      },
    ],
    [
      'that PyTorch made whole from parts are sound, with the parts in a folder below',
      'sound',
      undefined,
      {
        'model.safetensors.index.json': index({ a: 'model-00001-of-00001.safetensors' }),
        'model-00001-of-00001.safetensors': file({ a: tensor([2], 0, 8) }, 8),
        'sharded/shard-00001-model-00001-of-00001.safetensors': file(
          { __metadata__: sharded({ a: [0] }), a: tensor([2], 0, 8) },
          8,
        ),
      },
    ],
    [
      'that are cut are damaged',
      'damaged',
      /has \d+ bytes, and its tensors end at/,
      { 'model.safetensors': file({ w: tensor([2], 0, 8) }, 6) },
    ],
    [
      'with a hole are damaged',
      'damaged',
      /has a hole before tensor w/,
      { 'model.safetensors': file({ w: tensor([2], 4, 12) }, 12) },
    ],
    [
      'with an overlap are damaged',
      'damaged',
      /has an overlap/,
      { 'model.safetensors': file({ a: tensor([2], 0, 8), b: tensor([2], 4, 12) }, 12) },
    ],
    [
      'with fewer bytes than elements are damaged',
      'damaged',
      /has 4 bytes for tensor w of F32 \[2\]/,
      { 'model.safetensors': file({ w: tensor([2], 0, 4) }, 4) },
    ],
    [
      'whose header is said to be larger than the file are damaged',
      'damaged',
      /says that its header has/,
      { 'model.safetensors': new Uint8Array([255, 255, 255, 255, 0, 0, 0, 0, 1]) },
    ],
    [
      'whose header nests lists without end are damaged',
      'damaged',
      /more objects and lists than its size explains/,
      { 'model.safetensors': file({ __metadata__: nested(17) }, 0) },
    ],
    [
      'whose header holds nothing but empty lists are damaged',
      'damaged',
      /more objects and lists than its size explains/,
      { 'model.safetensors': file({ __metadata__: Array.from({ length: 200_000 }, () => []) }, 0) },
    ],
    [
      'with a tensor whose name is full of brackets are sound',
      'sound',
      undefined,
      { 'model.safetensors': file({ ['"[{\\'.repeat(20)]: tensor([2], 0, 8) }, 8) },
    ],
    [
      'with a numbered file that the index does not name are suspect',
      'suspect',
      /File model-2-of-2\.safetensors is not in the index: two saves can be mixed here/,
      {
        'model.safetensors.index.json': index({ a: 'model-1-of-1.safetensors' }),
        'model-1-of-1.safetensors': file({ a: tensor([1], 0, 4) }, 4),
        'model-2-of-2.safetensors': file({ a: tensor([1], 0, 4) }, 4),
      },
    ],
    [
      'with a tensor that the index does not name are suspect',
      'suspect',
      /File 1\.safetensors holds tensor b, which is not in the index/,
      {
        'model.safetensors.index.json': index({ a: '1.safetensors' }),
        '1.safetensors': file({ a: tensor([1], 0, 4), b: tensor([1], 4, 8) }, 8),
      },
    ],
    [
      'of another size than the index says are suspect',
      'suspect',
      /The index says 12 bytes in all, and the tensors have 4/,
      {
        'model.safetensors.index.json': index({ a: '1.safetensors' }, 12),
        '1.safetensors': file({ a: tensor([1], 0, 4) }, 4),
      },
    ],
    [
      'whose header is no JSON are damaged',
      'damaged',
      /no JSON object/,
      { 'model.safetensors': new Uint8Array([1, 0, 0, 0, 0, 0, 0, 0, 0x5b]) },
    ],
  ])('%s', (_what, verdict, sentence, files) => {
    const found = look(files);
    expect([found.format, found.verdict]).toEqual(['safetensors', verdict]);
    if (sentence !== undefined) expect(found.findings.map((finding) => finding.sentence).join('\n')).toMatch(sentence);
  });

  it('that PyTorch wrote distributed are joined; a hole is seen, and a missing end is not known', () => {
    const part = (rank: number, at: number): Uint8Array =>
      file({ __metadata__: sharded({ w: [at, 0] }), w: tensor([2, 1], 0, 8) }, 8 * Math.min(rank, 1));
    const name = (rank: number): string => `shard-0000${String(rank)}-model-00001-of-00001.safetensors`;
    const all = look({ [name(1)]: part(1, 0), [name(2)]: part(2, 2), [name(3)]: part(3, 4) });
    expect([all.verdict, all.state?.tensors[0]?.shape]).toEqual(['unverifiable', [6, 1]]);
    expect(look({ [name(1)]: part(1, 0), [name(3)]: part(3, 4) }).verdict).toBe('incomplete');
    expect(look({ [name(1)]: part(1, 0), [name(2)]: part(3, 4) }).verdict).toBe('incomplete');
  });
});
