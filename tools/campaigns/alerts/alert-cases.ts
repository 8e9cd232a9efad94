/** Series that make each alert of the chart fire, and what it says then. `npm run campaign -- alerts` asks promtool. */

/** One story: values a minute apart, in the notation of promtool (`0x5` is six times 0; `0+2x5` adds 2 each minute). */
export interface AlertCase {
  readonly alert: string;
  readonly series: Readonly<Record<string, string>>;
  /** A minute at which the alert is silent although something is wrong, because it is not for long enough or not enough. */
  readonly silentAt: number;
  readonly firesAt: number;
  /** Beside `severity`. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly severity?: 'critical' | 'warning' | 'info';
  readonly summary: string;
  /** Absent: as the chart has it. */
  readonly description?: string;
}

const OPERATOR = 'job="coxswain-operator",instance="op-1"';
const API = 'job="coxswain-api",instance="api-1"';
const ofOperator = { job: 'coxswain-operator', instance: 'op-1' };
const ofApi = { job: 'coxswain-api', instance: 'api-1' };

export const ALERT_CASES: readonly AlertCase[] = [
  {
    alert: 'CoxswainNoLeader',
    series: {
      [`coxswain_operator_is_leader{${OPERATOR}}`]: '1x5 0x20',
      'coxswain_operator_is_leader{instance="op-2"}': '0x26',
    },
    silentAt: 7,
    firesAt: 9,
    severity: 'critical',
    summary: 'No replica of the operator leads.',
  },
  {
    alert: 'CoxswainNoLeader',
    series: {},
    silentAt: 1,
    firesAt: 3,
    severity: 'critical',
    summary: 'No replica of the operator leads.',
  },
  {
    alert: 'CoxswainOperatorLoopLag',
    series: {
      [`nodejs_eventloop_lag_p99_seconds{${OPERATOR}}`]: '0.1x5 0.75x20',
      [`nodejs_eventloop_lag_p99_seconds{${API}}`]: '3x26',
      [`coxswain_operator_is_leader{${OPERATOR}}`]: '1x26',
    },
    silentAt: 9,
    firesAt: 12,
    labels: ofOperator,
    summary: 'The event loop of operator op-1 is late by 750ms.',
  },
  {
    alert: 'CoxswainWatchOutage',
    series: { [`coxswain_operator_watch_outage_seconds{${OPERATOR}}`]: '60x5 90x20' },
    silentAt: 7,
    firesAt: 9,
    labels: ofOperator,
    summary: 'Operator op-1 has not seen the cluster for 1m 30s.',
  },
  {
    alert: 'CoxswainWatchMissesEvents',
    series: {
      [`coxswain_operator_reflector_failures_total{${OPERATOR},collection="pods",cause="missed-events"}`]:
        '0x10 1x9 4x20',
      [`coxswain_operator_reflector_failures_total{${OPERATOR},collection="pods",cause="closed"}`]: '0+9x40',
    },
    silentAt: 15,
    firesAt: 25,
    labels: { ...ofOperator, collection: 'pods', cause: 'missed-events' },
    summary: 'A watch of operator op-1 leaves out changes of pods.',
  },
  {
    alert: 'CoxswainJobsQuarantined',
    series: { [`coxswain_operator_quarantined_jobs{${OPERATOR}}`]: '0x5 2x30' },
    silentAt: 15,
    firesAt: 17,
    labels: ofOperator,
    summary: 'The operator cannot act upon 2 jobs.',
  },
  {
    alert: 'CoxswainWritesRefused',
    series: { [`coxswain_operator_refusals_total{${OPERATOR}}`]: '0x5 1+1x40' },
    silentAt: 19,
    firesAt: 23,
    labels: ofOperator,
    summary: 'The cluster refuses what operator op-1 has to do for jobs.',
  },
  {
    alert: 'CoxswainStatusNotRecorded',
    series: { [`coxswain_operator_unrecorded_jobs{${OPERATOR}}`]: '0x5 3x20' },
    silentAt: 10,
    firesAt: 12,
    labels: ofOperator,
    summary: 'The API server does not accept the status of 3 jobs.',
  },
  {
    alert: 'CoxswainReportsRestarted',
    series: { [`coxswain_operator_ingest_restarts_total{${OPERATOR}}`]: '0x40 1x9 2x20' },
    silentAt: 45,
    firesAt: 55,
    labels: ofOperator,
    summary: 'Operator op-1 has lost its connections to launchers 2 times in 30 min.',
  },
  {
    alert: 'CoxswainNoMirror',
    series: { [`coxswain_api_mirror_leader{${API}}`]: '1x5 0x20' },
    silentAt: 10,
    firesAt: 12,
    severity: 'critical',
    summary: 'No replica of the API mirrors the cluster.',
  },
  {
    alert: 'CoxswainMirrorOutage',
    series: { [`coxswain_api_cluster_outage_seconds{${API}}`]: '120x5 180x20' },
    silentAt: 7,
    firesAt: 9,
    labels: ofApi,
    summary: 'The API has not heard the cluster for 3m 0s.',
  },
  {
    alert: 'CoxswainApplyFailing',
    series: {
      [`coxswain_api_apply_total{${API},outcome="failed"}`]: '0x5 1+1x40',
      [`coxswain_api_apply_total{${API},outcome="applied"}`]: '0+9x46',
    },
    silentAt: 22,
    firesAt: 26,
    labels: { ...ofApi, outcome: 'failed' },
    summary: 'Changes of jobs do not reach the cluster.',
    description:
      'They are tried again; the log of api-1 says what the cluster answers. See docs/reference/operating.md.',
  },
  {
    alert: 'CoxswainApplyLate',
    series: { [`coxswain_api_apply_oldest_seconds{${API}}`]: '300x5 600x20' },
    silentAt: 10,
    firesAt: 12,
    summary: 'A change of a job has not reached the cluster for 10m 0s.',
  },
  {
    alert: 'CoxswainApiErrors',
    series: {
      [`coxswain_api_request_duration_seconds_count{${API},status="503"}`]: '0x5 10+10x40',
      [`coxswain_api_request_duration_seconds_count{${API},status="200"}`]: '0+90x46',
    },
    silentAt: 12,
    firesAt: 25,
    summary: 'The API fails 10% of its requests.',
  },
  {
    alert: 'CoxswainWebhooksFailing',
    series: {
      [`coxswain_api_webhook_attempts_total{${API},outcome="failed"}`]: '0+2x70',
      [`coxswain_api_webhook_attempts_total{${API},outcome="delivered"}`]: '0+1x30 30x40',
    },
    silentAt: 62,
    firesAt: 78,
    summary: 'No message reaches any webhook.',
  },
  {
    alert: 'CoxswainWebhookDisabled',
    series: { [`coxswain_api_webhook_attempts_total{${API},outcome="disabled"}`]: '0x10 1x20' },
    silentAt: 10,
    firesAt: 12,
    severity: 'info',
    summary: 'A webhook was given up, and nothing more is sent to it.',
  },
  {
    alert: 'CoxswainAuditLost',
    series: { [`coxswain_api_audit_entries_lost_total{${API}}`]: '0x10 1x20' },
    silentAt: 10,
    firesAt: 12,
    labels: ofApi,
    summary: 'Entries of the audit about denied requests were lost.',
  },
  {
    alert: 'CoxswainAuditNotPushed',
    series: {
      [`coxswain_api_audit_push_oldest_seconds{${API}}`]: '0+60x40',
      'coxswain_api_audit_push_oldest_seconds{job="coxswain-api",instance="api-2"}': '0x40',
    },
    silentAt: 20,
    firesAt: 22,
    summary: 'The receiver of the audit has not taken an entry for 22m 0s.',
  },
  {
    alert: 'CoxswainAuditDropped',
    series: { [`coxswain_api_audit_pushed_entries_total{${API},outcome="dropped"}`]: '0x10 1x20' },
    silentAt: 10,
    firesAt: 12,
    summary: 'The receiver of the audit will not get some entries.',
  },
];
