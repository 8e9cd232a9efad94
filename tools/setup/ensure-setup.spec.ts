import { describeTasks, PART_MEANINGS, QUICKSTART_PARTS, SETUP_PARTS, USUAL_PARTS } from './ensure-setup.ts';
import type { Task } from './estimate.ts';

const task = (title: string): Task => ({ title, lane: title, cpuSeconds: 120, parallel: 1, waitSeconds: 0 });

describe('set-up', () => {
  it('prepares everything but a server of objects, the engines and controllers of others and Kueue unless parts are named', () => {
    expect(SETUP_PARTS.filter((part) => !USUAL_PARTS.includes(part))).toEqual([
      'object-store',
      'upstream-engines',
      'kueue',
      'other-controllers',
    ]);
  });

  it('prepares no browser and no program of tests for the quickstart', () => {
    expect(SETUP_PARTS.filter((part) => !QUICKSTART_PARTS.includes(part))).toEqual([
      'test-programs',
      'browser',
      'object-store',
      'upstream-engines',
      'kueue',
      'other-controllers',
    ]);
  });

  it('says of each part what it is', () => {
    expect(Object.keys(PART_MEANINGS)).toEqual([...SETUP_PARTS]);
  });
});

describe('the estimate before set-up', () => {
  it('names what will be built, after the time on the cores of this machine', () => {
    const text = describeTasks([task('build of etcd'), task('build of helm')]);
    expect(text).toMatch(/ on \d+ cores that do nothing else: build of etcd, build of helm$/);
  });

  it('names nothing where everything is there', () => {
    expect(describeTasks([])).toMatch(/ on \d+ cores that do nothing else$/);
  });

  it('counts what follows set-up', () => {
    expect(describeTasks([], 600)).not.toBe(describeTasks([]));
    expect(describeTasks([], 600)).toMatch(/^about 10 min /);
  });
});
