import { fillJobLink, JobLinks } from './job-links.ts';

const FACTS = { project: 'vision', namespace: 'lab', job: 'gpt&x', uid: 'u-1', attempt: '2' };

describe('a link of a job', () => {
  it('has the values in place of their names, encoded; other words in braces stay', () => {
    const template = 'https://tb.example.com/{namespace}/{uid}?run={job}&p={project}&a={attempt}&q={rank}';
    expect(fillJobLink({ title: 'TensorBoard', template }, FACTS)).toBe(
      'https://tb.example.com/lab/u-1?run=gpt%26x&p=vision&a=2&q={rank}',
    );
  });

  it.each<[string, unknown, boolean]>([
    ['an address', [{ title: 'a', template: 'https://a/{job}' }], true],
    ['no link at all', [], true],
    ['a script', [{ title: 'a', template: 'javascript:alert(1)//{job}' }], false],
    ['a host that the job chooses', [{ title: 'a', template: 'https://{job}.example.com/' }], false],
    ['no title', [{ title: '', template: 'https://a/' }], false],
    ['too many', Array.from({ length: 11 }, () => ({ title: 'a', template: 'https://a/' })), false],
  ])('may be %s', (_what, links, is) => {
    expect(JobLinks.safeParse(links).success).toBe(is);
  });
});
