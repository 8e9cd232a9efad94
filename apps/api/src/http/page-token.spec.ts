import { PageTokens } from './page-token.ts';

const tokens = new PageTokens(Buffer.alloc(32, 7));
const position = { key: '2026-01-01 00:00:00.123456+00', id: '3f1c2b9e-0000-4000-8000-000000000001' };

describe('a page token', () => {
  it('leads back to its position', () => {
    expect(tokens.read('jobs/a', tokens.write('jobs/a', position))).toEqual(position);
  });

  it.each([
    ['of another list', tokens.write('jobs/b', position)],
    ['of another installation', new PageTokens(Buffer.alloc(32, 8)).write('jobs/a', position)],
    ['that was changed', `x${tokens.write('jobs/a', position)}`],
    ['without a signature', tokens.write('jobs/a', position).split('.')[0] ?? ''],
    ['that is nothing', ''],
  ])('is refused when it is one %s', (_what, token) => {
    expect(() => tokens.read('jobs/a', token)).toThrow(/pageToken/);
  });
});
