import { existsSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { SYSTEM_NAMESPACE } from '@coxswain/local-cluster';

const OPERATOR = `system:serviceaccount:${SYSTEM_NAMESPACE}:coxswain-operator`;

/** Records what the operator writes, and nothing else, so that recording costs next to nothing. */
export const OPERATOR_AUDIT_POLICY = JSON.stringify({
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    { level: 'Metadata', users: [OPERATOR], verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'] },
    { level: 'None' },
  ],
});

/** Writes by verb and resource, such as `create pods`. */
export type WriteCounts = Readonly<Record<string, number>>;

/** What the operator wrote, as the API server recorded it. */
export class OperatorWrites {
  readonly #auditLog: string;

  constructor(auditLog: string) {
    this.#auditLog = auditLog;
  }

  /** A place in the record, to count from. */
  async mark(): Promise<number> {
    await delay(FLUSH_MS);
    return existsSync(this.#auditLog) ? statSync(this.#auditLog).size : 0;
  }

  /** Writes since `mark`, refused ones and those of the lease left out. */
  async since(mark: number): Promise<WriteCounts> {
    await delay(FLUSH_MS);
    const counts: Record<string, number> = {};
    if (!existsSync(this.#auditLog)) return counts;
    for (const line of readFileSync(this.#auditLog).subarray(mark).toString('utf8').split('\n')) {
      if (line === '') continue;
      const { verb, objectRef, responseStatus } = JSON.parse(line) as AuditLine;
      if (objectRef === undefined || objectRef.resource === 'leases' || (responseStatus?.code ?? 0) >= 300) continue;
      const { resource, subresource } = objectRef;
      const what = `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`;
      counts[what] = (counts[what] ?? 0) + 1;
    }
    return counts;
  }
}

/** All of them together. */
export function totalOf(counts: WriteCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** The API server writes its record in batches of a second. */
const FLUSH_MS = 1_500;

interface AuditLine {
  readonly verb: string;
  readonly objectRef?: { readonly resource: string; readonly subresource?: string };
  readonly responseStatus?: { readonly code?: number };
}
