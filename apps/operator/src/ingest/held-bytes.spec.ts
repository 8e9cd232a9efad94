import { HeldBytes, type HeldConnection } from './held-bytes.ts';

/** Three connections; notes which were cut. Those of `known` are identified. */
class Setup {
  readonly held = new HeldBytes({ unidentified: 100, all: 1_000 });
  readonly cut: string[] = [];
  readonly connections: Readonly<Record<string, HeldConnection>>;

  constructor(known = 'abc') {
    const open = (name: string): [string, HeldConnection] => {
      const connection = this.held.open(() => void this.cut.push(name));
      if (known.includes(name)) connection.identify();
      return [name, connection];
    };
    this.connections = Object.fromEntries(['a', 'b', 'c'].map(open));
  }

  of(name: string): HeldConnection {
    const connection = this.connections[name];
    if (connection === undefined) throw new Error(`no connection ${name}`);
    return connection;
  }
}

describe('bytes that were received and not handled', () => {
  it.each<[string, string, (setup: Setup) => void, readonly string[]]>([
    ['cut a connection without identity early', 'bc', ({ of }) => of('a').receive(101), ['a']],
    ['count a frame that is complete and waits', 'bc', ({ of }) => void of('a').complete(101), ['a']],
    ['may be many of a launcher that is known', 'a', ({ of }) => of('a').receive(1_000), []],
    [
      'cut in all the connection with most, whoever was last',
      'abc',
      ({ of }) => {
        of('a').receive(700);
        of('b').receive(250);
        of('c').receive(51);
      },
      ['a'],
    ],
    [
      'cut one connection after the other, and each once',
      'abc',
      ({ of }) => {
        of('a').receive(700);
        of('b').receive(301);
        of('b').receive(1);
        of('c').receive(1);
      },
      ['a', 'b', 'c'],
    ],
    [
      'are gone when they were handled',
      'abc',
      ({ of }) => {
        for (let frame = 0; frame < 100; frame += 1) {
          of('a').receive(90);
          of('a').complete(80);
          of('a').handle(80);
        }
      },
      [],
    ],
  ])('%s', (_, known, act, wanted) => {
    const setup = new Setup(known);
    act({ ...setup, of: (name: string) => setup.of(name) } as unknown as Setup);
    expect(setup.cut).toEqual(wanted);
  });

  it('end with their connection, except frames that wait, which end when they were handled', () => {
    const setup = new Setup();
    setup.of('a').receive(50);
    expect(setup.of('a').complete(40)).toBe(40);
    setup.of('a').receive(30);
    setup.of('a').close();
    expect(setup.held.bytes).toBe(40);
    expect(setup.of('a').handle(40)).toBe(0);
    expect(setup.held.bytes).toBe(0);
  });
});
