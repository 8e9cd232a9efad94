/** TorchTitan's degrees of sharding and of replication. */
import type { EffectiveSpec } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import type { EngineRefusal } from '../../engine-refusal.ts';

/** TorchTitan's two data-parallel degrees; context-parallel ranks shard in addition. */
export interface DataDegrees {
  readonly shard: number;
  readonly replicate: number;
}

/** TorchTitan's data-parallel degrees for a layout. */
export function dataDegrees(layout: ParallelLayout): DataDegrees {
  const { dataParallelDegree, contextParallelDegree = 1 } = layout;
  if (!isSharded(layout)) return { shard: 1, replicate: dataParallelDegree };
  const sharing = layout.dataParallelShardDegree ?? dataParallelDegree * contextParallelDegree;
  const shard = sharing / contextParallelDegree;
  return { shard, replicate: dataParallelDegree / shard };
}

function isSharded({ states }: ParallelLayout): boolean {
  return states?.zeroStage === 3 || (states?.zeroStage === undefined && states?.implementation === 'fsdp2');
}

/** FSDP2 (stage 3) and copies that are added up (stage 0) are all there is, and context-parallel ranks always shard (torchtitan/distributed/parallel_dims.py). */
export function dataRefusal({ layout }: EffectiveSpec): EngineRefusal | undefined {
  return wrongImplementation(layout) ?? wrongSharing(layout);
}

function wrongImplementation(layout: ParallelLayout): EngineRefusal | undefined {
  const implementation = layout.states?.implementation;
  const wanted = isSharded(layout) ? 'fsdp2' : 'ddp';
  if (implementation === undefined || implementation === wanted) return undefined;
  return {
    rule: 'torchtitan-shards-by-fsdp2',
    field: 'layout.states.implementation',
    why: `torchtitan has no layout.states.implementation ${implementation} at layout.states.zeroStage ${layout.states?.zeroStage ?? 0}`,
    fallback: `use ${wanted}, or zeroStage 3 with fsdp2`,
  };
}

function wrongSharing(layout: ParallelLayout): EngineRefusal | undefined {
  const { contextParallelDegree = 1, dataParallelDegree, dataParallelShardDegree } = layout;
  if (!isSharded(layout)) {
    if (contextParallelDegree > 1) {
      return {
        rule: 'torchtitan-shards-over-context',
        field: 'layout.states.zeroStage',
        why: `torchtitan shards states over context-parallel ranks, and layout.contextParallelDegree is ${contextParallelDegree}`,
        fallback: 'set layout.states.zeroStage to 3',
      };
    }
    if ((dataParallelShardDegree ?? 1) === 1) return undefined;
    return {
      rule: 'torchtitan-shards-by-fsdp2',
      field: 'layout.dataParallelShardDegree',
      why: `layout.dataParallelShardDegree ${dataParallelShardDegree} shards nothing at layout.states.zeroStage 0`,
      fallback: 'set layout.states.zeroStage to 3, or leave layout.dataParallelShardDegree out',
    };
  }
  const { shard, replicate } = dataDegrees(layout);
  if (Number.isInteger(shard) && Number.isInteger(replicate)) return undefined;
  return {
    rule: 'torchtitan-shard-group',
    field: 'layout.dataParallelShardDegree',
    why: `layout.dataParallelShardDegree ${dataParallelShardDegree} is no multiple of layout.contextParallelDegree ${contextParallelDegree} that divides both degrees' product`,
    fallback: `use ${dataParallelDegree * contextParallelDegree}, or ${contextParallelDegree} times a divisor of layout.dataParallelDegree ${dataParallelDegree}`,
  };
}
