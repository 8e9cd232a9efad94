/** Does what Coxswain says of a sound save agree with the library that loads it? */
import type { CheckpointRecord } from '@coxswain/api-types';
import type { DamagedEngine } from './engines.ts';
import type { Loaded, SaidByCli } from './programs.ts';

/** What three readers of one save say. */
export interface ThreeReaders {
  readonly record: CheckpointRecord;
  readonly shown: SaidByCli;
  readonly loaded: Loaded;
}

/** Where they differ, as sentences; none if they agree. */
export function disagreements(engine: DamagedEngine, { record, shown, loaded }: ThreeReaders): readonly string[] {
  const { contents, verification } = record;
  if (contents === null || verification === null) return ['its status has no contents or no verification'];
  if (loaded.error !== undefined) return [`the library does not load it: ${loaded.error}`];
  const tensors = shown.state?.tensors ?? [];
  const same = (what: string, ours: unknown, theirs: unknown): readonly string[] =>
    theirs === undefined || JSON.stringify(ours) === JSON.stringify(theirs)
      ? []
      : [`${what}: ${JSON.stringify(ours)} instead of ${JSON.stringify(theirs)}`];
  const { parameter, master, moment } = contents.kinds;
  return [
    ...same('status.verification', [verification.level, verification.verdict], ['V1', 'sound']),
    ...same('findings', verification.findings, []),
    ...same('verdict of show', shown.verdict, 'sound'),
    ...same('format of show', shown.format, loaded.format),
    ...same('step', contents.step, record.step),
    ...same('step of the library', loaded.step ?? record.step, record.step),
    ...same('step of show', shown.state?.facts?.step, record.step),
    ...same('ranks', contents.worldSize, engine.worldSize),
    ...same('ranks of the library', loaded.worldSize ?? engine.worldSize, engine.worldSize),
    ...same('tensors of show', tensors.length, contents.tensors),
    ...same('isResumable', contents.isResumable, true),
    ...same('holds.optimizer', contents.holds.optimizer, true),
    ...same('moments', loaded.moments === undefined ? undefined : moment?.tensors, loaded.moments),
    ...(engine.library === 'dcp'
      ? [
          // Bytes: TorchTitan trains query, key and value as one tensor, and saves the weights as three.
          ...same('tensors', contents.tensors, loaded.tensors),
          ...same('dtypes', sorted(contents.dtypes), sorted(loaded.dtypes)),
          ...same('objects', contents.objects, loaded.objects),
          ...same('bytes of moments', moment?.bytes, 2 * (parameter?.bytes ?? 0)),
        ]
      : []),
    ...(engine.library === 'hugging-face'
      ? [
          ...same('parameters', parameter, { tensors: loaded.tensors, bytes: loaded.bytes }),
          ...same('moments by parameter', moment?.tensors, 2 * (parameter?.tensors ?? 0)),
        ]
      : []),
    ...(engine.library === 'deepspeed'
      ? [
          ...same('masters', master, { tensors: loaded.tensors, bytes: loaded.bytes }),
          ...same('moments by master', moment?.bytes, 2 * (master?.bytes ?? 0)),
          ...same('release', contents.engineRelease, loaded.release),
        ]
      : []),
  ];
}

function sorted(
  counts: Readonly<Record<string, number>> | undefined,
): readonly (readonly [string, number])[] | undefined {
  return counts === undefined ? undefined : Object.entries(counts).toSorted(([one], [other]) => (one < other ? -1 : 1));
}
