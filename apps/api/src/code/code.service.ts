import { type CodeArchive, CODE_LIMITS, CODE_MEDIA_TYPE, CodeDigest, codePathOf } from '@coxswain/api-types';
import type { CheckpointStore } from '@coxswain/checkpoint-store';
import { DomainError } from '@coxswain/domain-error';
import type { TenantDatabase } from '@coxswain/persistence';
import { MIB_BYTES } from '@coxswain/units';
import { Inject, Injectable } from '@nestjs/common';
import { recordAudit } from '../auth/audit.ts';
import type { Principal } from '../auth/principal.ts';
import { inProject, type ScopeQuestion } from '../auth/project-scope.ts';
import type { Config } from '../config/config.ts';
import { CLUSTER, type Cluster, CONFIG, TENANT_DATABASE } from '../infrastructure/tokens.ts';
import { JobsService } from '../jobs/jobs.service.ts';
import {
  beginCode,
  codeBytes,
  type CodeKey,
  type CodeRow,
  completeCode,
  failCode,
  findCode,
  touchCode,
} from '../jobs/uploaded-code.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { CheckedArchive } from './checked-archive.ts';
import { openCodeStore } from './code-store.ts';

const NO_BUCKET =
  'this installation keeps no code: an administrator sets codeBucket.uri of the chart to a bucket (docs/tasks/ship-code.md); until then, put the code into the image or on a claim';
const FULL_RETRY_SECONDS = 3_600;

/** Which archive, of the first namespace of the project if none is named. */
export interface CodeAddress {
  readonly project: string;
  readonly sha256: string;
  readonly namespace?: string | undefined;
}

/** Archives of code that jobs name. The bucket is written outside of transactions, which hold connections. */
@Injectable()
export class CodeService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #config: Config['code'];
  readonly #jobs: JobsService;
  readonly #limits: ProjectLimits;
  #store: Promise<CheckpointStore> | undefined;

  // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(CONFIG) config: Config,
    @Inject(JobsService) jobs: JobsService,
    @Inject(ProjectLimits) limits: ProjectLimits,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#config = config.code;
    this.#jobs = jobs;
    this.#limits = limits;
  }

  /** NOT_FOUND: it has to be uploaded. */
  async get(principal: Principal, address: CodeAddress): Promise<CodeArchive> {
    const row = await inProject(this.#database, this.#question(principal, address, 'job.read'), async (sql, project) =>
      findCode(sql, await this.#keyOf(sql, project, address)),
    );
    if (row === undefined || row.uploaded_at === null || row.removed_at !== null)
      throw new DomainError(
        'NOT_FOUND',
        `project ${JSON.stringify(address.project)} has uploaded no archive ${address.sha256.slice(0, 64)}`,
      );
    return toArchive(row);
  }

  /** Stores the archive, unless it is there. A repetition changes nothing, and reads nothing of the body. */
  async upload(principal: Principal, address: CodeAddress, body: unknown): Promise<CodeArchive> {
    this.#limits.chargeChange(principal, address.project);
    const question = this.#question(principal, address, 'job.submit');
    const begun = await inProject(this.#database, question, async (sql, project) => {
      const key = await this.#keyOf(sql, project, address);
      const there = await touchCode(sql, key);
      if (there !== undefined) return { key, there };
      this.#requireBucket();
      await this.#requireRoom(sql, project);
      const row = await beginCode(sql, key, CODE_LIMITS.archiveBytes);
      if (row?.removed_at !== null) throw isBeingRemoved();
      return { key, there: undefined };
    });
    if (begun.there !== undefined) return toArchive(begun.there);
    const bytes = await this.#write(begun.key, body).catch(async (error: unknown) => {
      await inProject(this.#database, question, (sql) => failCode(sql, begun.key));
      throw error;
    });
    return await inProject(this.#database, question, async (sql, project) => {
      const row = await completeCode(sql, begun.key, bytes);
      if (row === undefined) throw isBeingRemoved();
      const target = `${begun.key.namespace}/${begun.key.sha256}`;
      await recordAudit(sql, principal, { action: 'code.upload', target, projectId: project.id });
      return toArchive(row);
    });
  }

  async #write({ namespace, sha256 }: CodeKey, body: unknown): Promise<number> {
    if (!isStream(body))
      throw new DomainError(
        'INVALID_REQUEST',
        `the body is not an archive; send it as content-type: ${CODE_MEDIA_TYPE}`,
      );
    const archive = new CheckedArchive(body, sha256);
    try {
      const store = await (this.#store ??= openCodeStore(this.#requireBucket()));
      await store.write(codePathOf(namespace, sha256), archive);
    } catch (error) {
      if (archive.problem instanceof DomainError) throw archive.problem;
      if (archive.problem !== undefined)
        throw new DomainError('INVALID_REQUEST', 'the upload ended before all of its bytes had arrived; send it again');
      throw new DomainError(
        'UNAVAILABLE',
        `the bucket for code took no archive: ${(error as Error).message} An administrator checks codeBucket of the chart`,
      );
    }
    return archive.bytes;
  }

  async #keyOf(
    sql: Parameters<JobsService['namespaceFor']>[0],
    project: { readonly id: string; readonly name: string },
    { sha256, namespace }: CodeAddress,
  ): Promise<CodeKey> {
    const digest = CodeDigest.safeParse(sha256);
    if (!digest.success)
      throw new DomainError('INVALID_REQUEST', `sha256: ${digest.error.issues[0]?.message ?? 'is no digest'}`);
    const clusterId = this.#cluster.id;
    return {
      clusterId,
      projectId: project.id,
      namespace: await this.#jobs.namespaceFor(sql, project, namespace),
      sha256,
    };
  }

  async #requireRoom(
    sql: Parameters<typeof codeBytes>[0],
    project: { readonly id: string; readonly name: string },
  ): Promise<void> {
    const most = this.#config.projectMib;
    const used = most === 0 ? 0 : await codeBytes(sql, { clusterId: this.#cluster.id, projectId: project.id });
    if (most === 0 || used + CODE_LIMITS.archiveBytes <= most * MIB_BYTES) return;
    const message = `project "${project.name}" keeps ${Math.round(used / MIB_BYTES)} MiB of archives of code, and ${most} MiB are its limit; delete jobs that are needed no longer, and their archives go ${this.#config.days} days later`;
    throw this.#limits.refuse('codeBytes', message, FULL_RETRY_SECONDS);
  }

  #requireBucket(): NonNullable<Config['code']['bucket']> {
    const { bucket } = this.#config;
    if (bucket === undefined) throw new DomainError('INVALID_REQUEST', NO_BUCKET);
    return bucket;
  }

  #question(principal: Principal, { project }: CodeAddress, action: ScopeQuestion['action']): ScopeQuestion {
    return { clusterId: this.#cluster.id, principal, project, action };
  }
}

/** A body of another type was parsed. */
function isStream(body: unknown): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}

function isBeingRemoved(): DomainError {
  return new DomainError(
    'UNAVAILABLE',
    'this archive is being removed because no job used it; send it again in a minute',
  );
}

function toArchive({ sha256, namespace, bytes, uploaded_at, used_at }: CodeRow): CodeArchive {
  return {
    sha256,
    namespace,
    bytes: Number(bytes),
    uploadedAt: (uploaded_at ?? used_at).toISOString(),
    usedAt: used_at.toISOString(),
  };
}
