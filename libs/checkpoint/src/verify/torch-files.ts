/** Verifies whole files of `torch.save`. */
import type { Reading, StoredFile } from '../read/save-files.ts';
import { UnreadableSave } from '../read/unreadable-save.ts';
import { checkContent, openItem } from './archives.ts';
import { describeUnreadable, type Finding, type Level } from './finding.ts';
import { isUpTo, type LookOptions } from './look.ts';

/** Looks at the envelopes (V2) and all bytes (V3) of files, as far as the level wants. */
export function* checkTorchFiles(files: readonly StoredFile[], options: LookOptions): Reading<readonly Finding[]> {
  if (!isUpTo('V2', options)) return [];
  const findings: Finding[] = [];
  let withoutCrc = 0;
  for (const { path, bytes } of files) {
    let level: Level = 'V2';
    try {
      const open = yield* openItem({ key: path, item: { file: path, offset: 0, length: bytes } });
      level = 'V3';
      if (isUpTo('V3', options)) yield* checkContent(open, options.crc32);
      if (open.isWithoutCrc) withoutCrc++;
    } catch (error) {
      if (!(error instanceof UnreadableSave)) throw error;
      findings.push(...describeUnreadable([{ path, error }], level));
    }
  }
  if (withoutCrc > 0)
    findings.push({
      level: 'V2',
      kind: 'unverifiable',
      sentence: `${String(withoutCrc)} of ${String(files.length)} files have no CRC-32: nothing shows whether their content is right.`,
    });
  return findings;
}
