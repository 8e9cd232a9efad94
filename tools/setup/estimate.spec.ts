import { estimateSeconds, minutes, type Task } from './estimate.ts';

const task = (lane: string, given: Partial<Task>): Task => ({
  title: `something of ${lane}`,
  lane,
  cpuSeconds: 0,
  parallel: 1,
  waitSeconds: 0,
  ...given,
});
const build = task('programs', { cpuSeconds: 600, parallel: 64 });
const download = task('python', { waitSeconds: 120 });
const unpack = task('python', { cpuSeconds: 60 });

describe('the estimate of set-up', () => {
  it.each<[string, readonly Task[], number, number]>([
    ['is nothing when nothing is missing', [], 2, 0],
    ['shares processor time among the cores', [build], 2, 300],
    ['gets no shorter than one core allows a task that uses only one', [unpack], 8, 60],
    ['hides a download behind a build', [build, download], 2, 300],
    ['adds up processor time of all lanes', [build, unpack], 2, 330],
    ['adds up the tasks of one lane', [download, unpack], 2, 180],
    ['is that of the longest lane where cores abound', [build, download, unpack], 64, 180],
  ])('%s', (_, tasks, cores, seconds) => {
    expect(estimateSeconds(tasks, cores)).toBe(seconds);
  });

  it.each([
    [0, 'under a minute'],
    [59, 'under a minute'],
    [60, 'about 1 min'],
    [61, 'about 2 min'],
    [540, 'about 9 min'],
  ])('tells %d s as "%s"', (seconds, text) => {
    expect(minutes(seconds)).toBe(text);
  });
});
