/** What a request to the apiserver does, as RBAC names it; `apply` is a server-side apply. */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'apply' | 'patch' | 'update' | 'delete' | 'deletecollection';

/** A request as faults and recorder see it. */
export interface SeenRequest {
  readonly verb: Verb;
  readonly method: string;
  /** Without query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly userAgent: string;
}

/** Which requests a fault strikes. Everything by default; `times` and `probability` (seeded) count only among those that match. */
export interface FaultMatch {
  readonly verbs?: readonly Verb[];
  /** A string matches the whole path. */
  readonly path?: string | RegExp;
  readonly where?: (request: SeenRequest) => boolean;
  readonly times?: number;
  /** 0..1. */
  readonly probability?: number;
}

/** One thing to do with a watch stream in place of passing a line on. */
export type WatchEffect =
  | { readonly send: string }
  /** Bytes without a newline, as a line that was cut. */
  | { readonly sendRaw: string | Uint8Array }
  | { readonly waitMs: number }
  /** Nothing more is passed on before this has happened. */
  | { readonly until: Promise<unknown> }
  | { readonly end: 'reset' | 'close' | 'silence' };

/** Decides what becomes of line number `index` (from 0) of a watch. A new one is made for each watch struck. */
export type WatchScript = (line: string, index: number) => readonly WatchEffect[];

/** What goes wrong. */
export type FaultAction =
  /** The connection is reset and nothing is sent upstream. */
  | { readonly kind: 'refuse' }
  /** Nothing is sent upstream and nothing is answered, without a word. */
  | { readonly kind: 'hang' }
  /** The request is carried out, and its answer is lost. */
  | { readonly kind: 'loseAnswer'; readonly how: 'reset' | 'hang' }
  /** Nothing is passed on before `until` has happened. */
  | { readonly kind: 'delay'; readonly until: () => Promise<unknown>; readonly side: 'request' | 'answer' }
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly reason?: string;
      readonly message?: string;
      readonly retryAfterSeconds?: number;
    }
  /** `atOnce` ends the stream as soon as it is open, before any line. */
  | { readonly kind: 'watch'; readonly script: () => WatchScript; readonly atOnce?: 'reset' | 'close' | 'silence' };

/** A fault: what goes wrong, for which requests. */
export interface Fault {
  readonly match?: FaultMatch;
  readonly action: FaultAction;
}

/** The named ways to spoil a watch. */
export const spoilWatch = {
  /** Ends the stream after `lines` lines: by a reset, an orderly close, or by saying nothing more on an open connection. */
  endAfter: (lines: number, how: 'reset' | 'close' | 'silence'): FaultAction =>
    script(() => (line, index) => (index < lines ? [{ send: line }] : [{ end: how }])),
  /** Ends the stream by `how` as soon as it is open, before any line. */
  endAtOnce: (how: 'reset' | 'close' | 'silence'): FaultAction => ({ kind: 'watch', script: passOn, atOnce: how }),
  /** Cuts line number `index` at byte `atByte`, then goes on with the next line, or ends. */
  cutLine: (cut: {
    readonly index: number;
    readonly atByte: number;
    readonly then: 'reset' | 'close' | 'goOn';
  }): FaultAction =>
    script(() => (line, index) => {
      if (index !== cut.index) return [{ send: line }];
      const part = Buffer.from(line, 'utf8').subarray(0, cut.atByte);
      return cut.then === 'goOn'
        ? [{ sendRaw: Buffer.concat([part, NEWLINE]) }]
        : [{ sendRaw: part }, { end: cut.then }];
    }),
  /** Sends a foreign line before line number `index`. */
  inject: (at: { readonly index: number; readonly line: string }): FaultAction =>
    script(() => (line, index) => (index === at.index ? [{ send: at.line }, { send: line }] : [{ send: line }])),
  /** Sends a foreign line in place of line number `index`: the real one is lost. */
  replace: (at: { readonly index: number; readonly line: string }): FaultAction =>
    script(() => (line, index) => [{ send: index === at.index ? at.line : line }]),
  /** Sends every line twice. */
  duplicate: (): FaultAction => script(() => (line) => [{ send: line }, { send: line }]),
  /** Sends the first line again after each later one. */
  replayFirst: (): FaultAction =>
    script(() => {
      let first: string | undefined;
      return (line) => {
        if (first !== undefined) return [{ send: line }, { send: first }];
        first = line;
        return [{ send: line }];
      };
    }),
  /** Delivers lines in swapped pairs: 2 1 4 3. */
  swapPairs: (): FaultAction =>
    script(() => {
      let held: string | undefined;
      return (line) => {
        if (held === undefined) {
          held = line;
          return [];
        }
        const earlier = held;
        held = undefined;
        return [{ send: line }, { send: earlier }];
      };
    }),
  /** Every line arrives `ms` late. */
  hold: (ms: number): FaultAction => script(() => (line) => [{ waitMs: ms }, { send: line }]),
  /** Lines for which `isLost` holds never arrive. */
  drop: (isLost: (event: { readonly type: string; readonly object: unknown }, index: number) => boolean): FaultAction =>
    script(() => (line, index) => {
      const event = JSON.parse(line) as { type: string; object: unknown };
      return isLost(event, index) ? [] : [{ send: line }];
    }),
  /** Says that the history is gone, as after a compaction, inside the stream. */
  expireAfter: (lines: number): FaultAction =>
    script(() => (line, index) => (index < lines ? [{ send: line }] : [{ send: errorLine(410, 'Expired') }])),
  /** Any ERROR event in place of line number `index`. */
  errorAt: (at: { readonly index: number; readonly status: number; readonly reason: string }): FaultAction =>
    script(() => (line, index) => [{ send: index === at.index ? errorLine(at.status, at.reason) : line }]),
} as const;

/** A watch line that carries a Status. */
export function errorLine(code: number, reason: string): string {
  return JSON.stringify({ type: 'ERROR', object: statusBody(code, { reason }) });
}

/** A Status as the apiserver sends it. */
export function statusBody(
  code: number,
  facts: { readonly reason?: string; readonly message?: string; readonly retryAfterSeconds?: number } = {},
): Readonly<Record<string, unknown>> {
  const { retryAfterSeconds } = facts;
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: facts.message ?? `status ${code}, made by the fault proxy`,
    reason: facts.reason ?? REASONS[code] ?? 'Unknown',
    ...(retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } }),
    code,
  };
}

const passOn = (): WatchScript => (line) => [{ send: line }];

const NEWLINE = Buffer.from('\n');

const REASONS: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function script(make: () => WatchScript): FaultAction {
  return { kind: 'watch', script: make };
}
