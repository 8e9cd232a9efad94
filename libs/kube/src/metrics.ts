/** Where the runtime counts what it sees; implemented by the program's telemetry. Label values come from small closed sets. */
export interface KubeMetrics {
  count(name: KubeCounter, labels?: Readonly<Record<string, string>>): void;
  observe(name: KubeMeasurement, value: number, labels?: Readonly<Record<string, string>>): void;
}

/** Things that happen. */
export type KubeCounter =
  | 'reflector_lists_total'
  | 'reflector_watches_total'
  | 'reflector_events_total'
  | 'reflector_failures_total'
  | 'cache_handler_errors_total'
  | 'queue_adds_total'
  | 'queue_reconciles_total'
  | 'queue_quarantined_total'
  | 'lease_transitions_total'
  | 'events_dropped_total';

/** Things that have a size. */
export type KubeMeasurement = 'queue_wait_ms' | 'queue_reconcile_ms' | 'queue_depth' | 'reflector_list_ms';

/** Counts nothing. */
export const noMetrics: KubeMetrics = { count: () => undefined, observe: () => undefined };
