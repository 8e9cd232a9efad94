/** Inputs of a schedule simulation: its shape and the times of its passes. */
import { DomainError } from '@coxswain/domain-error';
import type { Schedule } from '../facts.ts';
import { isVShaped } from '../stages.ts';

/** A schedule with its numbers of ranks, chunks and micro-batches. */
export interface ScheduleShape {
  readonly schedule: Schedule;
  /** Ranks of the pipeline. */
  readonly pipeline: number;
  /** Model chunks per rank. Schedules that fold the model into a V (zbv, v-half, v-min, dualpipe-v) have 2. */
  readonly chunks: number;
  readonly microBatches: number;
}

/**
 * Times of one micro-batch, in seconds. Every array is indexed by virtual stage, in the order a sample passes through,
 * and has `pipeline * chunks` entries. Entry k of a hop is the link between stage k and k + 1, so the last one is not read.
 */
export interface ScheduleInput extends ScheduleShape {
  readonly forwardS: Float64Array;
  /** Gradient of the activations; recomputation belongs here. */
  readonly backwardInputS: Float64Array;
  /** Gradient of the weights; schedules with a fused backward run it right behind `backwardInputS`. */
  readonly backwardWeightS: Float64Array;
  /** Stage k sends its output to k + 1. A hop between two stages of the same rank costs nothing. */
  readonly forwardHopS: Float64Array;
  /** Stage k + 1 sends its gradient to k. */
  readonly backwardHopS: Float64Array;
  /** `blocking`: the sender computes nothing until the message has arrived. `overlapped`: only the receiver waits. */
  readonly p2p: 'blocking' | 'overlapped';
  /**
   * Share of an activation that a split backward keeps until its weight pass, the rest going after the input pass; 1 where absent.
   * Without flash attention a GPT layer keeps 32 / (34 + 5 * heads * sequence / hidden) (2401.10241, as its authors' efficiency.py has it).
   */
  readonly weightShare?: number;
}

/** The virtual stage that a rank holds as its `chunk`-th. */
export function stageOfRank({ schedule, pipeline }: ScheduleShape, rank: number, chunk: number): number {
  return chunk * pipeline + (isVShaped(schedule) && chunk % 2 === 1 ? pipeline - 1 - rank : rank);
}

/** @throws DomainError INVALID_REQUEST if no schedule has this shape. Without a pipeline every shape is gradient accumulation. */
export function assertScheduleShape(shape: ScheduleShape): void {
  const { schedule, pipeline, chunks, microBatches } = shape;
  assertCount('pipeline', pipeline);
  assertCount('chunks', chunks);
  assertCount('microBatches', microBatches);
  if (pipeline === 1 || schedule === 'interleaved-1f1b') return;
  const needed = isVShaped(schedule) ? 2 : 1;
  if (chunks === needed) return;
  const instead = needed === 1 ? 'set chunks to 1 or use interleaved-1f1b' : 'set chunks to 2';
  refuse('chunks', `schedule ${schedule} runs with chunks ${needed} per rank, got ${chunks}: ${instead}`);
}

/** @throws DomainError INVALID_REQUEST if the shape is impossible or an array of times is too short. */
export function assertScheduleInput(input: ScheduleInput): void {
  assertScheduleShape(input);
  const stages = input.pipeline * input.chunks;
  assertLength('forwardS', input.forwardS, stages);
  assertLength('backwardInputS', input.backwardInputS, stages);
  assertLength('backwardWeightS', input.backwardWeightS, stages);
  assertLength('forwardHopS', input.forwardHopS, stages);
  assertLength('backwardHopS', input.backwardHopS, stages);
}

function assertCount(field: string, value: number): void {
  if (!Number.isInteger(value) || value < 1)
    refuse(field, `${field} must be a whole number of at least 1, got ${value}`);
}

function assertLength(field: string, times: Float64Array, stages: number): void {
  if (times.length >= stages) return;
  refuse(field, `${field} has ${times.length} entries, but pipeline * chunks is ${stages}: give one per virtual stage`);
}

function refuse(field: string, message: string): never {
  throw new DomainError('INVALID_REQUEST', message, [{ pointer: `/${field}`, detail: message }]);
}
