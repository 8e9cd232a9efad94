/** Receives counts and measurements of this library; the program's telemetry implements it. Label values come from small closed sets. */
export interface KubeMetrics {
  count(name: KubeCounter, labels?: Readonly<Record<string, string>>): void;
  observe(name: KubeMeasurement, value: number, labels?: Readonly<Record<string, string>>): void;
}

/** Names of counters. */
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

/** Names of measurements. */
export type KubeMeasurement =
  'queue_wait_seconds' | 'queue_reconcile_seconds' | 'queue_depth' | 'reflector_list_seconds';

/** Counts nothing. */
export const noMetrics: KubeMetrics = { count: () => undefined, observe: () => undefined };
