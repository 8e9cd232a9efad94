import { mayBePodOf, placementName, podName, podOfName } from './gang-names.ts';

const uid = '3f1c2b9e-0000-4000-8000-000000000001';

describe('names of what belongs to a gang', () => {
  it.each([
    { job: 'tiny-gpt', want: 'tiny-gpt-3f1c2b9e-e12-7' },
    { job: 'a.b', want: 'a-b-3f1c2b9e-e12-7' },
    { job: 'x'.repeat(300), want: `${'x'.repeat(40)}-3f1c2b9e-e12-7` },
  ])('$job', ({ job, want }) => {
    expect(podName({ name: job, uid }, { epoch: 12, podIndex: 7 })).toBe(want);
  });

  const placement = 'tiny-gpt-3f1c2b9e-e12-0123456789';

  it.each([
    { job: 'tiny-gpt', want: 'tiny-gpt-3f1c2b9e-e12-012345-7' },
    { job: 'x'.repeat(300), want: `${'x'.repeat(34)}-3f1c2b9e-e12-012345-7` },
  ])('$job, with the hash of its placement', ({ job, want }) => {
    const name = podName({ name: job, uid }, { epoch: 12, podIndex: 7, placement });
    expect(name).toBe(want);
    expect([podOfName(name), mayBePodOf({ name: job, uid }, name)]).toEqual([{ epoch: 12, podIndex: 7 }, true]);
    expect(mayBePodOf({ name: 'another', uid }, name)).toBe(false);
  });

  it.each(['tiny-gpt', 'tiny-e1-2x', 'tiny-e1', 'tiny-e1-0-0-x'])('%s is no pod’s of a gang', (name) => {
    expect(podOfName(name)).toBeUndefined();
  });

  it('fit 63 characters up to epoch 99,999 of 32,768 pods', () => {
    for (const hashed of [undefined, placement]) {
      const gang = { epoch: 99_999, podIndex: 32_767, placement: hashed };
      expect(podName({ name: 'x'.repeat(253), uid }, gang).length).toBeLessThanOrEqual(63);
    }
  });

  it('give a Placement the name of its epoch and of its hash, so that nobody can take it in advance for another one', () => {
    const placement = { epoch: 3, sha256: '0123456789abcdef'.repeat(4) };
    expect(placementName({ name: 'tiny-gpt', uid }, placement)).toBe('tiny-gpt-3f1c2b9e-e3-0123456789');
  });
});
