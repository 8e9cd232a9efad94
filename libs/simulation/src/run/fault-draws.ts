/** Which fault is next, whom does it strike, and how long does each answer to it take? All that is left to chance, each from a stream of its own. */
import { exponential, gamma, logNormal, logNormalWithin } from '../kernel/distributions.ts';
import { RandomStream } from '../kernel/random-stream.ts';
import { type Cause, type FailurePreset, SHAPES } from '../presets/failures.ts';
import { type Response, WATCHDOG_SECONDS } from '../presets/responses.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** Everything about one fault that is decided when it happens. Times in milliseconds. */
export interface Fault {
  readonly cause: Cause;
  /** Below how many nodes of the gang: one, or a leaf switch's. */
  readonly isLeafOutage: boolean;
  /** A restart of the processes clears it. */
  readonly isTransient: boolean;
  /** A wrong node is named. */
  readonly isMisdiagnosed: boolean;
  readonly takesPerson: boolean;
  readonly detectMs: number;
  readonly locateMs: number;
  readonly processMs: number;
  readonly swapMs: number;
}

/** Rates per node are those of the preset; the gang has `nodes` of them. */
export class FaultDraws {
  readonly #failures: FailurePreset;
  readonly #response: Response;
  readonly #nodes: number;
  readonly #streams: Readonly<Record<StreamName, RandomStream>>;
  /** How much oftener than others each node fails, drawn when it is first asked for. */
  readonly #lemons = new Map<string, number>();

  constructor(about: { failures: FailurePreset; response: Response; nodes: number; seed: number }) {
    this.#failures = about.failures;
    this.#response = about.response;
    this.#nodes = about.nodes;
    const made = STREAMS.map((name) => [name, new RandomStream(about.seed, name)] as const);
    this.#streams = Object.fromEntries(made) as Record<StreamName, RandomStream>;
  }

  /** Until the next fault that no restart brought about. Those that one did, and those that come back, are in the published counts as well. */
  nextFaultMs(): number {
    const { causes } = this.#failures;
    const replaced = causes.map(({ count, strikes }) => count * REPLACED_SHARE[strikes]).reduce(sumOf, 0);
    const again = this.#response.misdiagnosedProbability * replaced;
    const count = causes.map((one) => one.count).reduce(sumOf, 0) * (1 - SHAPES.infantProbability) - again;
    return exponential(this.#streams.faults, this.#meanMs(count));
  }

  nextPlannedMs(): number {
    return exponential(this.#streams.planned, this.#meanMs(this.#failures.planned));
  }

  nextFalseAlarmMs(): number {
    const perDay = Object.values(this.#response.detectors).reduce((sum, one) => sum + one.falseAlarmsPerDay, 0);
    const gpus = this.#nodes * this.#failures.gpusPerNode;
    return exponential(this.#streams.falseAlarms, DAY_MS / ((perDay * gpus) / 16_384));
  }

  fault(): Fault {
    const stream = this.#streams.causes;
    const cause = this.#cause(stream);
    const isLeafOutage = this.#streams.leafOutages.happens(this.#failures.leafOutageShare);
    const isTransient = stream.happens(cause.strikes === 'device' ? SHAPES.transientShare : 0);
    const isMisdiagnosed = stream.happens(this.#response.misdiagnosedProbability);
    const takesPerson = this.#streams.persons.happens(this.#response.manual.probability);
    return { cause, isLeafOutage, isTransient, isMisdiagnosed, takesPerson, ...this.#times(cause, takesPerson) };
  }

  /** After how long this restart fails again, if it does. */
  infantMs(): number | undefined {
    const stream = this.#streams.infants;
    const [fails, when] = [stream.happens(SHAPES.infantProbability), stream.uniform()];
    return fails ? when * SHAPES.infantSeconds * 1000 : undefined;
  }

  /** What was not mended comes back within ten minutes. */
  repeatMs(): number {
    return this.#streams.repeats.uniform() * SHAPES.infantSeconds * 1000;
  }

  /** One of these nodes, lemons before others. */
  victim(nodes: readonly string[]): string {
    const factors = nodes.map((node) => this.#lemonFactor(node));
    let left = this.#streams.victims.uniform() * factors.reduce((sum, factor) => sum + factor, 0);
    const index = factors.findIndex((factor) => (left -= factor) < 0);
    return nodes[Math.max(0, index)] ?? '';
  }

  /** Any of these nodes. */
  anyOf(nodes: readonly string[]): string {
    return nodes[this.#streams.bystanders.index(nodes.length)] ?? '';
  }

  repairMs(): number {
    const median = SHAPES.repairHours * HOUR_MS;
    return logNormal(this.#streams.repairs, { median, sigma: SHAPES.sigma.repair });
  }

  leafOutageMs(): number {
    const median = SHAPES.leafOutageMinutes * MINUTE_MS;
    return logNormal(this.#streams.leafOutages, { median, sigma: SHAPES.sigma.repair });
  }

  restartMs(how: 'process' | 'swap'): number {
    const median = this.#response.restartSeconds[how] * 1000;
    return logNormal(this.#streams.restarts, { median, sigma: SHAPES.sigma.restart });
  }

  #times({ kind }: Cause, takesPerson: boolean): Pick<Fault, 'detectMs' | 'locateMs' | 'processMs' | 'swapMs'> {
    const { detectors, locateSeconds, locateWithinSeconds, manual } = this.#response;
    const { seconds, isTimeout = false, missProbability } = detectors[kind];
    const { detections, locations } = this.#streams;
    const isMissed = detections.happens(missProbability);
    const noticed = logNormal(detections, { median: seconds, sigma: isTimeout ? 0 : SHAPES.sigma.detect });
    const about = { median: locateSeconds[kind], sigma: SHAPES.sigma.locate };
    const located = logNormalWithin(locations, about, locateWithinSeconds?.[kind] ?? [0, Infinity]);
    return {
      detectMs: 1000 * (isMissed ? Math.max(WATCHDOG_SECONDS, noticed) : noticed),
      locateMs: 1000 * (located + (takesPerson ? manual.seconds : 0)),
      processMs: this.restartMs('process'),
      swapMs: this.restartMs('swap'),
    };
  }

  #cause(stream: RandomStream): Cause {
    const { causes } = this.#failures;
    let left = stream.uniform() * causes.reduce((sum, one) => sum + one.count, 0);
    const cause = causes.find(({ count }) => (left -= count) < 0) ?? causes[0];
    if (cause === undefined) throw new Error('a preset of failures has no cause');
    return cause;
  }

  #lemonFactor(node: string): number {
    const known = this.#lemons.get(node);
    if (known !== undefined) return known;
    const drawn = gamma(this.#streams.lemons, { shape: SHAPES.lemonShape, mean: 1 });
    this.#lemons.set(node, drawn);
    return drawn;
  }

  /** Between two of what the preset counts, on as many nodes as there are. */
  #meanMs(count: number): number {
    const { nodes, days } = this.#failures;
    return (days * DAY_MS * nodes) / (count * this.#nodes);
  }
}

/** Of faults that strike so, those that somebody looks for a node for. */
const REPLACED_SHARE = { software: 0, device: 1 - SHAPES.transientShare, machine: 1 } as const;

function sumOf(sum: number, value: number): number {
  return sum + value;
}

const STREAMS = [
  'faults',
  'causes',
  'victims',
  'lemons',
  'bystanders',
  'planned',
  'falseAlarms',
  'leafOutages',
  'persons',
  'infants',
  'repeats',
  'detections',
  'locations',
  'restarts',
  'repairs',
] as const;
type StreamName = (typeof STREAMS)[number];
