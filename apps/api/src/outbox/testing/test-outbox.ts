import { randomUUID } from 'node:crypto';
import { TrainingJobSpec } from '@coxswain/api-types';
import type { Database } from '@coxswain/persistence';
import { createLogger, createMetrics } from '@coxswain/telemetry';
import type { Cluster } from '../../infrastructure/tokens.ts';
import { enqueueApply } from '../../jobs/job-changes.ts';
import { insertRequestedJob } from '../../jobs/job-table.ts';
import type { ApplyBudgets } from '../apply-lanes.ts';
import { ApplyQueue } from '../apply-queue.ts';

/** A database with the queue's tables. */
export interface OutboxAt {
  readonly database: Database;
  readonly queueUrl: string;
}

/** A worker, and what it carries. */
export interface Carrying {
  /** Ids of jobs in the order in which their turns began. */
  readonly carried: readonly string[];
  readonly queue: ApplyQueue;
}

/** A job that was asked for on that cluster, with its outbox entry; in a project of its own unless one is given. */
export async function aRequestedJob(
  database: Database,
  cluster: Cluster,
  projectId: string = randomUUID(),
): Promise<string> {
  const id = randomUUID();
  const spec = TrainingJobSpec.parse({
    engine: { name: 'command', image: 'example/image', command: ['train'] },
    layout: { dataParallelDegree: 1 },
  });
  await database.transaction(async (sql) => {
    await sql.query('INSERT INTO projects (id, cluster_id, name) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING', [
      projectId,
      cluster.id,
      projectId,
    ]);
    const submittedBy = { id, name: 'ada' };
    await insertRequestedJob(sql, cluster, {
      id,
      projectId,
      namespace: 'research',
      name: id,
      spec,
      labels: {},
      submittedBy,
    });
    await enqueueApply(sql, id, 'run');
  });
  return id;
}

/** The worker of that cluster, which records what it carries before `apply` carries it. */
export function carrying(
  { database, queueUrl }: OutboxAt,
  cluster: Cluster,
  options: {
    readonly apply?: (jobId: string, signal?: AbortSignal) => Promise<void>;
    readonly concurrency?: number;
    readonly budgets?: ApplyBudgets;
  } = {},
): Carrying {
  const carried: string[] = [];
  const { apply, ...rest } = options;
  const queue = new ApplyQueue({
    database,
    queueUrl,
    cluster,
    writer: {
      apply: async (jobId, signal) => {
        carried.push(jobId);
        await apply?.(jobId, signal);
      },
    },
    logger: createLogger({ program: 'test', level: 'silent' }),
    metrics: createMetrics(),
    ...rest,
  });
  queue.start();
  return { carried, queue };
}

/** Holds all that pass until it is opened. */
export class Gate {
  #held = Promise.withResolvers<undefined>();

  pass(): Promise<unknown> {
    return this.#held.promise;
  }

  open(): void {
    this.#held.resolve(undefined);
  }

  shut(): void {
    this.#held = Promise.withResolvers<undefined>();
  }
}
