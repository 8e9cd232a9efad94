import { takeFromAddress } from './take-from-address.ts';

/** An address of a page; `shown` is what stands in the browser afterwards. */
function anAddress(url: string) {
  const { hash, pathname, search } = new URL(url, 'https://coxswain.example.com');
  const address = {
    shown: url,
    location: { hash, pathname, search },
    history: {
      replaceState: (_state: unknown, _title: string, to?: string | URL | null) => (address.shown = String(to)),
    },
  };
  return address;
}

describe('what stands behind the # of an address', () => {
  it.each<[string, string, string, readonly [value: string | undefined, shown: string]]>([
    ['is taken, and stands there no more', 'token', '/#token=cxs_1', ['cxs_1', '/']],
    ['leaves path and query', 'token', '/projects/a/jobs/b?x=1#token=cxs_1', ['cxs_1', '/projects/a/jobs/b?x=1']],
    ['takes the rest behind the # with it', 'token', '/?x=1#token=cxs_1&sign-in=no-role', ['cxs_1', '/?x=1']],
    ['is read by its name', 'sign-in', '/#sign-in=start-again', ['start-again', '/']],
    ['is decoded', 'token', '/#token=a%2Bb%20c', ['a+b c', '/']],
    ['may be empty', 'token', '/#token=', ['', '/']],
    ['stays if it has another name', 'token', '/jobs#incident-1.1', [undefined, '/jobs#incident-1.1']],
    ['is nothing if there is none', 'token', '/jobs?token=cxs_1', [undefined, '/jobs?token=cxs_1']],
  ])('%s', (_sentence, name, url, want) => {
    const address = anAddress(url);
    expect([takeFromAddress(name, address), address.shown]).toEqual(want);
  });

  it('is taken once', () => {
    const address = anAddress('/#token=cxs_1');
    takeFromAddress('token', address);
    expect(takeFromAddress('token', anAddress(address.shown))).toBeUndefined();
  });
});
