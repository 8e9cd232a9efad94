import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { END_BYTES } from '@coxswain/checkpoint';
import { describeTruncated } from './saved-files.ts';

describe('a file whose listed size is an old one', () => {
  let directory = '';
  beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'coxswain-files-'))));
  afterEach(() => rmSync(directory, { recursive: true }));

  /** An archive that is larger than its listing says, and that end of the archive. */
  const archive = (end: string): Buffer =>
    Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), Buffer.alloc(3 * END_BYTES), Buffer.from(end, 'latin1')]);

  it.each<[what: string, end: string, want: string | undefined]>([
    ['is whole if its bytes are', `PK\x05\x06${'\0'.repeat(18)}`, undefined],
    ['is cut off if its bytes are', '\0'.repeat(22), 'model.pt is cut off'],
  ])('%s', async (_what, end, want) => {
    writeFileSync(join(directory, 'model.pt'), archive(end));
    expect(await describeTruncated(directory, [{ path: 'model.pt', bytes: END_BYTES + 9 }])).toBe(want);
  });
});
