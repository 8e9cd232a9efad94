import { headOf } from './watch-lines.ts';

const metadata = { name: 'p', namespace: 'ns', uid: 'u1', resourceVersion: '7', labels: { a: 'b' } };
const line = (type: string, about: object, before: object = {}): string =>
  JSON.stringify({ ...before, type, object: { kind: 'Pod', apiVersion: 'v1', metadata: about, spec: {} } });

describe('the beginning of a watch line', () => {
  it.each<[string, string, ReturnType<typeof headOf>]>([
    [
      'tells which state of which object it is about',
      line('MODIFIED', metadata),
      { type: 'MODIFIED', uid: 'u1', resourceVersion: '7' },
    ],
    [
      'does so where the server chose the name',
      line('ADDED', { name: 'p-x', generateName: 'p-', namespace: 'ns', uid: 'u1', resourceVersion: '7' }),
      { type: 'ADDED', uid: 'u1', resourceVersion: '7' },
    ],
    [
      'and of what has no namespace',
      line('ADDED', { name: 'n', uid: 'u2', resourceVersion: '8' }),
      { type: 'ADDED', uid: 'u2', resourceVersion: '8' },
    ],
    [
      'says nothing of what was deleted: that is the last state, not the one that is kept',
      line('DELETED', metadata),
      undefined,
    ],
    ['nor of a bookmark', line('BOOKMARK', { resourceVersion: '7' }), undefined],
    [
      'nor where a label looks like metadata',
      line('MODIFIED', {
        name: 'p',
        labels: { a: '","uid":"u1","resourceVersion":"7"' },
        uid: 'u9',
        resourceVersion: '9',
      }),
      undefined,
    ],
    ['nor where something stands before it', line('MODIFIED', metadata, { object: 1 }), undefined],
    ['nor of a name with a quote in it', line('MODIFIED', { ...metadata, name: 'p","uid":"u1' }), undefined],
    ['nor where the text ends', line('MODIFIED', metadata).slice(0, 90), undefined],
  ])('%s', (_what, text, want) => {
    expect(headOf(text)).toEqual(want);
  });
});
