export { microBatches, NIC_KINDS, PRECISIONS, RANK_ORDERS, RECOMPUTE_MODULES, SCHEDULES } from './facts.ts';
export type {
  ClusterFacts,
  GpuFacts,
  LayoutPoint,
  NicKind,
  Precision,
  RankOrder,
  RecomputeModule,
  RunFacts,
  Schedule,
  StagePart,
} from './facts.ts';
