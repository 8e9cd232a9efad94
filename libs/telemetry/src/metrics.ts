import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** What a program counts, and the text that Prometheus scrapes. Label values must come from small closed sets. */
export interface Metrics {
  readonly registry: Registry;
  counter(spec: MetricSpec): Counter;
  gauge(spec: MetricSpec & { readonly collect?: () => number }): Gauge;
  /** A gauge with a value for each of several labels, read at each scrape; labels that are no longer reported disappear. */
  gauges(spec: MetricSpec & { readonly collect: () => readonly LabelledFigure[] }): void;
  histogram(spec: MetricSpec & { readonly buckets: readonly number[] }): Histogram;
  /** The exposition text, and its content type. */
  expose(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** One value of a metric, with the values of its labels. */
export interface LabelledFigure {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Name (with unit as suffix), meaning and label names of a metric. */
export interface MetricSpec {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
}

/** The library's 10 ms wake an idle process a hundred times a second, which is 0.9 % of a core; what matters is lag of half a second. */
const LOOP_LAG_PRECISION_MS = 50;

/** A registry of its own, so that several programs may live in one test process; process metrics are included when asked. */
export function createMetrics(options: { readonly processMetrics?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (options.processMetrics === true) {
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_LAG_PRECISION_MS });
  }
  const shared = (spec: MetricSpec): { name: string; help: string; labelNames: string[]; registers: Registry[] } => ({
    name: spec.name,
    help: spec.help,
    labelNames: [...(spec.labelNames ?? [])],
    registers: [registry],
  });
  return {
    registry,
    counter: (spec) => new Counter(shared(spec)),
    gauge: ({ collect, ...spec }) =>
      new Gauge({
        ...shared(spec),
        ...(collect === undefined
          ? {}
          : {
              collect(): void {
                this.set(collect());
              },
            }),
      }),
    gauges: ({ collect, ...spec }) => {
      // The registry keeps it.
      void new Gauge({
        ...shared(spec),
        collect(): void {
          this.reset();
          for (const { labels, value } of collect()) this.set({ ...labels }, value);
        },
      });
    },
    histogram: (spec) => new Histogram({ ...shared(spec), buckets: [...spec.buckets] }),
    expose: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}
