import { readFileSync } from 'node:fs';
import { MAX_TERMINATION_MESSAGE_BYTES, TerminationCause } from '@coxswain/api-types';
import fc from 'fast-check';
import { fitCause, writeTerminationMessage } from './termination.ts';

function aCause(more: Partial<TerminationCause> = {}): TerminationCause {
  return {
    version: 1,
    kind: 'engineFailed',
    epoch: 3,
    node: 'node-2',
    message: 'rank 1 on node node-2 exited with code 1',
    lastLines: [],
    unreportedCheckpoints: [],
    ...more,
  };
}

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 3000 }),
  fc.string({ unit: fc.constantFrom('\u0000', '"', '\\', '\ud800', '😀', '\u001b', 'é'), maxLength: 3000 }),
);
const most = Number.MAX_SAFE_INTEGER;
const stop = {
  graceMs: most,
  tookMs: most,
  signalled: most,
  unhandled: most,
  killed: false,
  save: { beganMs: most, endedMs: most },
};
const saved = fc.record({
  step: fc.nat(),
  // No step out of the save directory, and none that goes nowhere: a launcher takes neither from an engine.
  directory: fc
    .string({ unit: fc.constantFrom('a', '.', '-'), minLength: 1, maxLength: 255 })
    .filter((name) => name !== '.' && name !== '..'),
  format: fc.string({ unit: fc.constantFrom('x', '"', '😀'), maxLength: 32 }),
  bytes: fc.maxSafeNat(),
  files: fc.nat(),
  manifestSha256: fc.constant('a'.repeat(64)),
});

describe('a termination message', () => {
  it('always fits the kubelet’s limit and the contract, whatever an engine printed', () => {
    fc.assert(
      fc.property(
        anyText,
        fc.array(anyText, { maxLength: 40 }),
        fc.array(saved, { maxLength: 8 }),
        fc.option(anyText, { nil: undefined }),
        (message, lastLines, unreportedCheckpoints, path) => {
          const checkpointFault =
            path === undefined ? undefined : ({ kind: 'ContentDiffers', path, expected: path, found: path } as const);
          const cause = { message, lastLines, unreportedCheckpoints, node: 'n'.repeat(253), stop };
          const text = JSON.stringify(
            fitCause(aCause({ ...cause, ...(checkpointFault === undefined ? {} : { checkpointFault }) })),
          );
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_TERMINATION_MESSAGE_BYTES);
          TerminationCause.parse(JSON.parse(text));
          expect(Buffer.from(text).toString('utf8')).toBe(text);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('keeps the last lines and loses the first', () => {
    const lines = Array.from({ length: 30 }, (_, index) => `${index} ${'x'.repeat(400)}`);
    const fitted = fitCause(aCause({ lastLines: lines }));
    expect(fitted.lastLines.at(-1)).toBe(lines.at(-1));
    expect(fitted.lastLines.length).toBeGreaterThan(5);
    expect(fitted.message).toBe(aCause().message);
  });

  it('is readable text: no colours, no titles of windows, no control characters, no turned writing', () => {
    const lines = ['\u001b[31mred\u001b[0m\ttab\r\u0007', '\u65e5 \u202e evil \u001b[2J\u001b]0;pwn\u0007end'];
    const { lastLines } = fitCause(aCause({ lastLines: lines }));
    expect(lastLines).toEqual(['red\ttab', '\u65e5  evil end']);
  });

  it('says why it could not be written instead of throwing', () => {
    expect(writeTerminationMessage('/no/such/directory/file', aCause())).toMatch(/cannot be written/);
    expect(() => readFileSync('/no/such/directory/file')).toThrow();
  });
});
