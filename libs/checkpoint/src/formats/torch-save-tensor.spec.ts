import { readArchivedTensor } from './torch-save-tensor.ts';

/** `data.pkl` of a tensor of int8 with these fields, as `torch._utils._rebuild_tensor_v2` gets them; `fields` are opcodes. */
function pickle(...fields: readonly string[]): Uint8Array {
  const storage = '(X\x07\0\0\0storagectorch\nCharStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x04tQ';
  return Uint8Array.from(
    Buffer.from(`ctorch._utils\n_rebuild_tensor_v2\n(${storage}${fields.join('')}\x89NtR.`, 'latin1'),
  );
}

const MINUS_ONE = 'J\xff\xff\xff\xff';

describe('a tensor in an archive', () => {
  it.each<[what: string, isRead: boolean, bytes: Uint8Array]>([
    ['of four elements is read', true, pickle('K\0', 'K\x04\x85', 'K\x01\x85')],
    ['with an offset in its storage is read', true, pickle('K\x02', 'K\x02\x85', 'K\x01\x85')],
    ['without a stride of each dim is none', false, pickle('K\0', 'K\x04\x85', ')')],
    ['before the start of its storage is none', false, pickle(MINUS_ONE, 'K\x04\x85', 'K\x01\x85')],
    [
      'of more dims than PyTorch makes is none',
      false,
      pickle('K\0', `(${'K\x01'.repeat(65)}t`, `(${'K\x01'.repeat(65)}t`),
    ],
    [
      'of as many dims as PyTorch makes is read',
      true,
      pickle('K\0', `(${'K\x01'.repeat(64)}t`, `(${'K\x01'.repeat(64)}t`),
    ],
    ['of a negative stride is none', false, pickle('K\0', 'K\x04\x85', `${MINUS_ONE}\x85`)],
  ])('%s', (_what, isRead, bytes) => {
    expect(readArchivedTensor(bytes) !== undefined).toBe(isRead);
  });
});
