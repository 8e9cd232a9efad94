export { microBatches, NIC_KINDS, PRECISIONS, RECOMPUTE_MODULES, SCHEDULES } from './facts.ts';
export type {
  ClusterFacts,
  GpuFacts,
  LayoutPoint,
  NicKind,
  Precision,
  RecomputeModule,
  RunFacts,
  Schedule,
  StagePart,
} from './facts.ts';
