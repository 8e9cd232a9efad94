import { relative } from 'node:path';
import { MAX_FINDING_CHARACTERS, POD_PATHS, type WorkerAnswer } from '@coxswain/api-types';
import { MANIFEST_FILE } from '@coxswain/checkpoint';
import { safeText } from '@coxswain/safe-text';
import type { Prepare } from '../checkpoints/worker.ts';
import { bucketIn } from '../program/settings.ts';
import { openBucket } from './open-bucket.ts';

/** Downloads a checkpoint that a pod is to verify, if it is in a bucket. A file there that is not what was saved is the answer. */
export async function prepareFromBucket(
  { directory, manifestSha256 }: Parameters<Prepare>[0],
  environment: NodeJS.ProcessEnv,
  checkpointMount: string = POD_PATHS.checkpoints,
): ReturnType<Prepare> {
  const bucket = await openBucket({ bucket: bucketIn(environment), checkpointMount }, (sentence) =>
    process.stderr.write(`${sentence}\n`),
  );
  const problem = await bucket?.download({ folder: relative(checkpointMount, directory), manifestSha256 });
  if (problem === undefined) return undefined;
  const message = safeText(problem.why, MAX_FINDING_CHARACTERS);
  // Where the manifest does not read right, nothing else proves anything.
  const isEvidence = problem.fault?.kind === 'ContentDiffers' && !problem.fault.path.endsWith(MANIFEST_FILE);
  return isEvidence ? damaged(message) : { version: 1, unread: message };
}

/** Every byte was compared with the manifest, so this is as close as V3. */
function damaged(message: string): WorkerAnswer {
  return {
    version: 1,
    verification: {
      level: 'V3',
      verdict: 'damaged',
      at: new Date().toISOString(),
      by: 'Worker',
      readBytes: 0,
      findings: [{ kind: 'damaged', message }],
    },
  };
}
