import { ClusterFabric, FabricChanges, FabricSnapshotList, RecordedFabric } from '@coxswain/api-types';
import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { Answers } from '../http/openapi.ts';
import { FabricHistoryService } from './fabric-history.service.ts';
import { FabricService } from './fabric.service.ts';
import { ChangesQuery, SnapshotQuery } from './snapshot-queries.ts';

/** REST routes for the fabric as it is now, its recorded snapshots and the changes between them. */
@Controller('v1/fabric')
export class FabricController {
  readonly #fabric: FabricService;
  readonly #history: FabricHistoryService;

  constructor(
    @Inject(FabricService) fabric: FabricService,
    @Inject(FabricHistoryService) history: FabricHistoryService,
  ) {
    this.#fabric = fabric;
    this.#history = history;
  }

  @Get()
  @Answers({
    status: 200,
    schema: ClusterFabric,
    summary: 'Every node with GPUs, where it sits, and which jobs hold it (administrators)',
  })
  read(@Caller() caller: Principal): Promise<ClusterFabric> {
    return this.#fabric.read(caller);
  }

  @Get('snapshots')
  @Answers({
    status: 200,
    schema: FabricSnapshotList,
    summary: 'When the fabric changed, newest first, and how many nodes came, went and changed (administrators)',
  })
  snapshots(
    @Caller() caller: Principal,
    @Query({ schema: SnapshotQuery }) query: SnapshotQuery,
  ): Promise<FabricSnapshotList> {
    return this.#history.list(caller, query);
  }

  @Get('snapshots/:snapshotId')
  @Answers({ status: 200, schema: RecordedFabric, summary: 'What the fabric looked like then (administrators)' })
  snapshot(@Caller() caller: Principal, @Param('snapshotId') snapshotId: string): Promise<RecordedFabric> {
    return this.#history.read(caller, snapshotId);
  }

  @Get('snapshots/:snapshotId/changes')
  @Answers({
    status: 200,
    schema: FabricChanges,
    summary: 'What changed since the snapshot before, or since another one (administrators)',
  })
  changes(
    @Caller() caller: Principal,
    @Param('snapshotId') snapshotId: string,
    @Query({ schema: ChangesQuery }) query: ChangesQuery,
  ): Promise<FabricChanges> {
    return this.#history.changes(caller, snapshotId, query);
  }
}
