import { LimitExceeded } from './limit-exceeded.ts';
import { type StreamBounds, StreamPlaces } from './stream-places.ts';

/** Places without bounds but those that are given. Each stream is of a principal of its own, unless one is named. */
class Setup {
  readonly cut: string[] = [];
  readonly places: StreamPlaces;
  #opened = 0;

  constructor(bounds: Partial<StreamBounds>) {
    const none: StreamBounds = { ofPrincipal: 0, streams: 0, streamsInAll: 0, logs: 0, logsInAll: 0 };
    this.places = new StreamPlaces(
      { ...none, ...bounds },
      (limit, message, seconds) => new LimitExceeded(limit, message, seconds),
    );
  }

  /** What gives the place back, or what is refused. */
  open(
    kind: 'openStream' | 'openLog',
    project: string | undefined,
    principal = `principal-${(this.#opened += 1)}`,
  ): (() => void) | LimitExceeded {
    try {
      return this.places[kind](principal, project, () => this.cut.push(`${project}`));
    } catch (error) {
      if (error instanceof LimitExceeded) return error;
      throw error;
    }
  }
}

const KINDS = ['openStream', 'openLog'] as const;
const bound = (ofProject: number, inAll: number): Partial<StreamBounds> => ({
  ...{ streams: ofProject, logs: ofProject },
  ...{ streamsInAll: inAll, logsInAll: inAll },
});

describe('streams and logs of one principal', () => {
  it('are so many, whatever it watches; one that ends makes room for one, once', () => {
    const setup = new Setup({ ofPrincipal: 3 });
    const first = setup.open('openStream', 'a', 'ada') as () => void;
    setup.open('openLog', 'b', 'ada');
    setup.open('openStream', undefined, 'ada');
    expect(setup.open('openStream', 'b', 'ada')).toMatchObject({
      code: 'RATE_LIMITED',
      limit: 'streams',
      retryAfterSeconds: 10,
      message: 'you have 3 streams open, which is the most; close one first',
    });
    first();
    first();
    expect(setup.open('openLog', 'a', 'ada')).toBeInstanceOf(Function);
    expect(setup.open('openLog', 'a', 'ada')).toMatchObject({ limit: 'streams' });
  });

  it.each(KINDS)('that were refused take no place: %s', (kind) => {
    const setup = new Setup({ ...bound(1, 0), ofPrincipal: 2 });
    setup.open(kind, 'a', 'ada');
    for (let time = 0; time < 9; time++) setup.open(kind, 'a', 'ada');
    expect(setup.open(kind, 'b', 'ada')).toBeInstanceOf(Function);
  });
});

describe.each([
  ['openStream', 'streams', /^this project has 2 streams open in this replica/],
  ['openLog', 'logStreams', /^this project has 2 logs open in this replica.*close one first$/],
] as const)('%s of one project', (kind, limit, message) => {
  it('is given so often, for all its principals together, and takes no room from another project', () => {
    const setup = new Setup(bound(2, 0));
    const first = setup.open(kind, 'research') as () => void;
    setup.open(kind, 'research');
    expect(setup.open(kind, 'research')).toMatchObject({ limit, message: expect.stringMatching(message) });
    expect(setup.open(kind, 'rivals')).toBeInstanceOf(Function);
    first();
    first();
    expect(setup.open(kind, 'research')).toBeInstanceOf(Function);
    expect(setup.open(kind, 'research')).toMatchObject({ limit });
  });
});

describe.each(KINDS)('%s of all projects', (kind) => {
  it('is given so often: a project with fewer takes the oldest of the one with the most, up to as many as that one has', () => {
    const setup = new Setup(bound(90, 100));
    for (let time = 0; time < 90; time++) setup.open(kind, 'greedy');
    let modest = 0;
    while (setup.open(kind, 'modest') instanceof Function) modest += 1;
    expect(modest).toBe(50);
    expect(new Set(setup.cut)).toEqual(new Set(['greedy']));
    expect(setup.open(kind, 'greedy')).toMatchObject({
      message: expect.stringMatching(/^this replica has 100 .* open, which is the most, and no project has more/),
    });
  });

  it('serves a newcomer beside four projects that have all of it', () => {
    const setup = new Setup(bound(64, 256));
    for (const project of ['a', 'b', 'c', 'd']) for (let time = 0; time < 128; time++) setup.open(kind, project);
    const served = Array.from({ length: 40 }, () => setup.open(kind, 'modest')).filter(
      (one) => one instanceof Function,
    );
    expect(served).toHaveLength(40);
    expect(setup.cut).toHaveLength(40);
  });

  it('is not limited where the limit is 0', () => {
    const setup = new Setup({});
    for (let time = 0; time < 9_999; time++) expect(setup.open(kind, 'a')).toBeInstanceOf(Function);
    expect(setup.cut).toEqual([]);
  });
});
