import { fillLogLink, LogLink } from './log-link.ts';

const LOKI =
  'https://grafana.example.com/explore?query=%7Bnamespace%3D%22{namespace}%22%7D&job={job}&a={attempt}&r={rank}';

describe('a link to the whole log', () => {
  it('has the values in place of their names, encoded', () => {
    const facts = { namespace: 'team a', job: 'gpt&x', attempt: '2', rank: '' };
    expect(fillLogLink(LOKI, facts)).toBe(
      'https://grafana.example.com/explore?query=%7Bnamespace%3D%22team%20a%22%7D&job=gpt%26x&a=2&r=',
    );
  });

  it.each([
    [LOKI, true],
    ['http://loki:3100/{unknown}', true],
    ['javascript:alert(1)//{job}', false],
    ['https://{job}.example.com/', false],
    ['https:///path', false],
    ['', false],
  ])('%s: %s', (template, is) => {
    expect(LogLink.safeParse(template).success).toBe(is);
  });
});
