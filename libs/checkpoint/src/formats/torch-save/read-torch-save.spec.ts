import { UnreadableSave } from '../../read/unreadable-save.ts';
import { MemorySave } from '../../testing/memory-save.ts';
import { torchArchive } from '../../testing/torch-archive.ts';
import { PickleDict, type PickleValue } from '../pickle/pickle-value.ts';
import { readTorchSave } from './read-torch-save.ts';

const text = (value: string): Uint8Array => Uint8Array.from(Buffer.from(value, 'latin1'));
const STEP_7 = '\x80\x02}X\x04\0\0\0stepK\x07s.';

function read(bytes: Uint8Array | undefined, isLink = false): PickleValue {
  const save = new MemorySave(bytes === undefined ? {} : { 'a.pt': bytes });
  if (isLink) save.links.add('a.pt');
  return save.run(readTorchSave(save.list(), 'a.pt'));
}

describe('a file of torch.save', () => {
  it('is read without its tensors', () => {
    const value = read(torchArchive(STEP_7, { byteorder: text('little'), 'data/0': new Uint8Array(8) }));
    expect(value instanceof PickleDict ? value.get('step') : value).toBe(7);
  });

  it('that is a link is not followed', () => {
    expect(() => read(torchArchive(STEP_7), true)).toThrow(/is a link, which is not followed/);
  });

  it.each<[what: string, reason: RegExp, bytes: Uint8Array | undefined]>([
    ['that is not there', /is not there/, undefined],
    [
      'of PyTorch before 1.6',
      /the form of PyTorch before 1\.6, which is not read here; load it with PyTorch and save it again/,
      text('\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.'),
    ],
    ['that is empty', /does not begin as a file of torch\.save does/, new Uint8Array()],
    ['that is a pickle alone', /does not begin as a file of torch\.save does/, text(STEP_7)],
    ['that is cut', /it is cut/, torchArchive(STEP_7).subarray(0, -30)],
    ['without a pickle', /has no record data\.pkl/, torchArchive('').map((byte) => (byte === 0x70 ? 0x71 : byte))],
    ['whose pickle is cut', /has a data\.pkl that cannot be read: byte 14 wants/, torchArchive(STEP_7.slice(0, -2))],
    [
      'of big-endian bytes',
      /has byte order "big", and only little is read here/,
      torchArchive(STEP_7, { byteorder: text('big') }),
    ],
    ['whose byte order is no word', /has byte order ""/, torchArchive(STEP_7, { byteorder: new Uint8Array(17) })],
  ])('%s is refused', (_what, reason, bytes) => {
    expect(() => read(bytes)).toThrow(UnreadableSave);
    expect(() => read(bytes)).toThrow(reason);
  });
});
