/** Small invented files of measurements for tests. */
import type { RunFacts } from '@coxswain/planner';
import { interpretRow, readRows, type MeasuredRow } from '../rows/index.ts';

export const COLUMNS =
  'id,source,model,params_b,layers,hidden,heads,kv_heads,ffn_hidden,vocab,seq_len,experts,topk,gpu,gpus,gpus_per_node,intra_node_link,inter_node_link,tp,pp,vpp,dp,cp,ep,etp,sp,zero_stage,recompute,precision,mbs,gbs,engine,iter_time_s,notes,mem_per_gpu_gib,mem_kind,quality,recompute_detail,offload_detail'.split(
    ',',
  );

/** A dense GPT on 16 A100 with everything published. */
export const PLAIN: Readonly<Record<string, string>> = {
  id: 'invented-1',
  source: 'nowhere:1',
  model: 'GPT-invented',
  params_b: '1.3',
  layers: '24',
  hidden: '2048',
  heads: '16',
  kv_heads: '16',
  ffn_hidden: '8192',
  vocab: '51200',
  seq_len: '2048',
  experts: '',
  topk: '',
  gpu: 'A100-SXM4-80GB',
  gpus: '16',
  gpus_per_node: '8',
  intra_node_link: 'NVLink3',
  inter_node_link: '8x HDR InfiniBand 200Gb/s (NIC per GPU)',
  tp: '2',
  pp: '2',
  vpp: '1',
  dp: '4',
  cp: '1',
  ep: '1',
  etp: '',
  sp: '0',
  zero_stage: '0',
  recompute: 'full',
  precision: 'fp16',
  mbs: '2',
  gbs: '64',
  engine: 'Megatron-LM (2021)',
  iter_time_s: '2',
  notes: '',
  mem_per_gpu_gib: '',
  mem_kind: '',
  quality: 'A',
  recompute_detail: '',
  offload_detail: '',
};

/** CSV text of rows that differ from `PLAIN` as stated; ids are numbered unless stated. */
export function csvOf(changes: readonly Readonly<Record<string, string>>[]): string {
  const lines = changes.map((change, index) => {
    const row: Readonly<Record<string, string>> = { ...PLAIN, id: `invented-${index + 1}`, ...change };
    return COLUMNS.map((column) => `"${(row[column] ?? '').replaceAll('"', '""')}"`).join(',');
  });
  return [COLUMNS.join(','), ...lines, ''].join('\n');
}

export function rowWith(change: Readonly<Record<string, string>>): MeasuredRow {
  const [row] = readRows(csvOf([change]));
  if (row === undefined) throw new Error('no row was read');
  return row;
}

/** A model with experts, to be laid over `PLAIN`. */
export const MOE = {
  model: 'Qwen3-30B-A3B',
  heads: '32',
  kv_heads: '4',
  layers: '48',
  ffn_hidden: '768',
  experts: '128',
  topk: '8',
};

/** What a row that differs from `PLAIN` as stated is predicted from. */
export function runOf(change: Readonly<Record<string, string>>): RunFacts {
  const result = interpretRow(rowWith(change));
  if ('unpredicted' in result) throw new Error(result.unpredicted);
  return result.run;
}
