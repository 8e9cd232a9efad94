import { Inject, Injectable } from '@nestjs/common';
import { list, present, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { pageRows } from '../http/page-query.ts';
import { parse } from '../http/validation.ts';
import { FabricHistoryService } from './fabric-history.service.ts';
import { FabricService } from './fabric.service.ts';
import { GpuCountsService } from './gpu-counts.service.ts';
import { ChangesQuery, SnapshotQuery } from './snapshot-queries.ts';

/** Nodes of a large cluster: how many there are is known only afterwards. */
const COUNTED_ROWS = 10_000;
/** The most types of GPUs. */
const TYPES_ROWS = 64;
/** The most kinds of changes in an answer. */
const CHANGES_ROWS = 200;

/** The fabric by GraphQL. */
@Injectable()
export class FabricResolvers implements RootResolvers {
  readonly queries: RootFields;

  constructor(
    @Inject(FabricService) fabric: FabricService,
    @Inject(FabricHistoryService) history: FabricHistoryService,
    @Inject(GpuCountsService) counts: GpuCountsService,
  ) {
    this.queries = {
      fabric: list<object>(
        () => COUNTED_ROWS,
        (_args, { principal }) => fabric.read(principal),
      ),
      gpus: list<{ readonly project: string }>(
        () => TYPES_ROWS,
        ({ project }, { principal }) => counts.read(principal, project),
      ),
      fabricSnapshots: list<{ readonly pageSize?: number | null }>(pageRows, (query, { principal }) =>
        history.list(principal, parse(SnapshotQuery, present(query))),
      ),
      fabricSnapshot: list<{ readonly snapshotId: string }>(
        () => COUNTED_ROWS,
        ({ snapshotId }, { principal }) => history.read(principal, snapshotId),
      ),
      fabricChanges: list<{ readonly snapshotId: string }>(
        () => CHANGES_ROWS,
        ({ snapshotId, ...query }, { principal }) =>
          history.changes(principal, snapshotId, parse(ChangesQuery, present(query))),
      ),
    };
  }
}
