import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readDcpMetadata } from './dcp-metadata.ts';

const METADATA = Uint8Array.from(readFileSync(join(import.meta.dirname, '../../../fixtures/dcp-2.15.0/.metadata')));

/** NEWOBJ, MEMOIZE; EMPTY_DICT, MEMOIZE, MARK: an object, and the state that follows it. */
const OBJECT_AND_STATE = '\x81\x94}\x94(';
const FRAME = `\x95${'\0'.repeat(8)}`;

/** With an opcode before each state that the faster reader of states does not pass. */
function withFrames(bytes: Uint8Array): Uint8Array {
  const latin = Buffer.from(bytes).toString('latin1');
  expect(latin.split(OBJECT_AND_STATE).length).toBeGreaterThan(20);
  return Uint8Array.from(Buffer.from(latin.replaceAll(OBJECT_AND_STATE, `\x81\x94${FRAME}}\x94(`), 'latin1'));
}

describe('metadata of PyTorch', () => {
  it('is the same in whichever way its states are read', () => {
    expect(readDcpMetadata(withFrames(METADATA))).toEqual(readDcpMetadata(METADATA));
  });

  it('keeps the chunks of the tensor that was read last, and makes those of others again', () => {
    const [first, second] = readDcpMetadata(METADATA).tensors;
    const chunks = first?.chunks;
    expect(first?.chunks).toBe(chunks);
    expect(second?.chunks).toHaveLength(2);
    expect(first?.chunks).not.toBe(chunks);
    expect(first?.chunks).toEqual(chunks);
  });

  it('has its chunks in the form of JSON too', () => {
    const [first] = readDcpMetadata(METADATA).tensors;
    expect(JSON.parse(JSON.stringify(first))).toMatchObject({
      key: 'model.both',
      chunks: [{ offsets: [0, 0] }, {}, {}, {}],
    });
  });
});
