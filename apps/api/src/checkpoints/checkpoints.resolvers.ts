import { CheckpointPin, CheckpointVerify } from '@coxswain/api-types';
import { Inject, Injectable } from '@nestjs/common';
import { list, one, present, type Relations, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { pageRows } from '../http/page-query.ts';
import { parse } from '../http/validation.ts';
import { newestRelation } from '../jobs/newest-relation.ts';
import { type CheckpointAddress, CheckpointCatalogueService } from './checkpoint-catalogue.service.ts';
import { CheckpointCommandsService } from './checkpoint-commands.service.ts';
import { CheckpointsQuery } from './checkpoint-queries.ts';
import { CheckpointsService, MAX_LISTED_CHECKPOINTS } from './checkpoints.service.ts';

interface Listed {
  readonly project: string;
  readonly pageSize?: number | null;
  readonly good?: boolean | null;
  readonly deleted?: boolean | null;
}

/** Checkpoints by GraphQL: those of a job, those of a project, and the newest beside each job of an answer. */
@Injectable()
export class CheckpointsResolvers implements RootResolvers {
  readonly queries: RootFields;
  readonly mutations: RootFields;
  readonly relations: Relations;

  constructor(
    @Inject(CheckpointsService) checkpoints: CheckpointsService,
    @Inject(CheckpointCatalogueService) catalogue: CheckpointCatalogueService,
    @Inject(CheckpointCommandsService) commands: CheckpointCommandsService,
  ) {
    this.queries = {
      checkpoints: list<{ readonly project: string; readonly jobId: string }>(
        () => MAX_LISTED_CHECKPOINTS,
        (job, { principal }) => checkpoints.ofJob(principal, job),
      ),
      projectCheckpoints: list<Listed>(pageRows, ({ project, ...query }, { principal }) =>
        catalogue.list(principal, project, parse(CheckpointsQuery, asParameters(query))),
      ),
      checkpoint: one<CheckpointAddress>((address, { principal }) => catalogue.get(principal, address)),
    };
    this.mutations = {
      verifyCheckpoint: one<CheckpointAddress & { readonly level?: string | null }>(
        ({ level, ...address }, { principal }) =>
          commands.verify(principal, address, parse(CheckpointVerify, present({ level }))),
      ),
      pinCheckpoint: one<CheckpointAddress & { readonly reason: string }>(({ reason, ...address }, { principal }) =>
        commands.pin(principal, address, parse(CheckpointPin, { reason })),
      ),
      unpinCheckpoint: one<CheckpointAddress>((address, { principal }) => commands.unpin(principal, address)),
      forgetCheckpoint: one<CheckpointAddress>((address, { principal }) =>
        commands.forget(principal, address).then(() => true),
      ),
    };
    const ofEach = {
      checkpoints: newestRelation((jobs, limit, principal) => checkpoints.ofJobs(principal, jobs, limit)),
    };
    this.relations = { Job: ofEach, JobSummary: ofEach };
  }
}

/** A parameter of REST is text. */
function asParameters(query: Omit<Listed, 'project'>): unknown {
  const { good, deleted, ...rest } = query;
  return present({ ...rest, good: good?.toString(), deleted: deleted?.toString() });
}
