import { type CodeArchive, CODE_LIMITS, CODE_MEDIA_TYPE, CodeDigest, codePathOf } from '@coxswain/api-types';
import type { CheckpointStore, StoreError } from '@coxswain/checkpoint-store';
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
  type CodeKey,
  type CodeRow,
  completeCode,
  failCode,
  findCode,
  lockedCodeBytes,
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
    const question = this.#question(principal, address, 'job.read');
    const { key, row } = await inProject(this.#database, question, async (sql, project) => {
      const key = await this.#keyOf(sql, project, address);
      return { key, row: await findCode(sql, key) };
    });
    if (row === undefined || row.uploaded_at === null || row.removed_at !== null || !(await this.#isStored(key)))
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
    const { key, there } = await inProject(this.#database, question, async (sql, project) => {
      const key = await this.#keyOf(sql, project, address);
      return { key, there: await touchCode(sql, key) };
    });
    if (there !== undefined && (await this.#isStored(key))) return toArchive(there);
    await inProject(this.#database, question, async (sql, project) => {
      this.#requireBucket();
      // An archive that somebody deleted from the bucket has its room.
      if (there === undefined) await this.#requireRoom(sql, project);
      const row = await beginCode(sql, key, CODE_LIMITS.archiveBytes);
      if (row?.removed_at !== null) throw isBeingRemoved();
    });
    const bytes = await this.#write(key, body).catch(async (error: unknown) => {
      await inProject(this.#database, question, (sql) => failCode(sql, key));
      throw error;
    });
    return await inProject(this.#database, question, async (sql, project) => {
      const row = await completeCode(sql, key, bytes);
      if (row === undefined) throw isBeingRemoved();
      const target = `${key.namespace}/${key.sha256}`;
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
      const store = await this.#openStore();
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

  /** Somebody may have deleted the object. The row alone would then keep the archive from being uploaded again. */
  async #isStored({ namespace, sha256 }: CodeKey): Promise<boolean> {
    if (this.#config.bucket === undefined) return false;
    try {
      const store = await this.#openStore();
      return (await store.read(codePathOf(namespace, sha256), 0, 1)).length > 0;
    } catch (error) {
      // AWS answers 403 for an absent object without s3:ListBucket. If the credentials are wrong, the upload fails and says so.
      const { kind } = error as Partial<StoreError>;
      if (kind === 'NotFound' || kind === 'AccessDenied') return false;
      throw new DomainError(
        'UNAVAILABLE',
        `the bucket for code does not answer: ${(error as Error).message} An administrator checks codeBucket of the chart`,
      );
    }
  }

  #openStore(): Promise<CheckpointStore> {
    return (this.#store ??= openCodeStore(this.#requireBucket()));
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
    sql: Parameters<typeof lockedCodeBytes>[0],
    project: { readonly id: string; readonly name: string },
  ): Promise<void> {
    const most = this.#config.projectMib;
    if (most === 0) return;
    const used = await lockedCodeBytes(sql, { clusterId: this.#cluster.id, projectId: project.id });
    if (used + CODE_LIMITS.archiveBytes <= most * MIB_BYTES) return;
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
