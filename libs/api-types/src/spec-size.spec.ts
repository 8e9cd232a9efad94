import { JobCreate } from './rest.ts';
import { MAX_SPEC_BYTES, specBytes, specSizeProblem } from './spec-size.ts';
import { aJobSpec } from './testing/index.ts';

/** A spec of that many bytes: its environment is filled up. */
function aSpecOf(bytes: number): ReturnType<typeof aJobSpec> {
  const spec = aJobSpec();
  const names = Array.from({ length: 40 }, (_, index) => ({ name: `TEXT_${index}`, value: '' }));
  const empty = { ...spec, engine: { ...spec.engine, env: names } };
  let left = bytes - specBytes(empty);
  const env = names.map(({ name }) => {
    const length = Math.min(4_000, left);
    left -= length;
    return { name, value: 'x'.repeat(length) };
  });
  return { ...spec, engine: { ...spec.engine, env } };
}

describe('the size of a spec', () => {
  it('counts bytes, not letters', () => {
    expect(specBytes({ a: 'é' })).toBe(10);
  });

  it('may be 128 kB', () => {
    expect(specBytes(aSpecOf(MAX_SPEC_BYTES))).toBe(MAX_SPEC_BYTES);
    expect(specSizeProblem(aSpecOf(MAX_SPEC_BYTES))).toBeUndefined();
    expect(JobCreate.safeParse({ name: 'x', spec: aSpecOf(MAX_SPEC_BYTES) }).success).toBe(true);
  });

  it('may not be one byte more, in a sentence that names size, limit and way out', () => {
    const refused = JobCreate.safeParse({ name: 'x', spec: aSpecOf(MAX_SPEC_BYTES + 1) });
    expect(refused.error?.issues).toMatchObject([
      { path: ['spec'], message: expect.stringMatching(/131073 bytes.*at most 131072.*volume/) as unknown },
    ]);
  });
});
