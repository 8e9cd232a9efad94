/** Verifies a checkpoint in a pod of its own. The termination message is the answer, so that the pod needs no rights and no network. */
import { writeFileSync } from 'node:fs';
import {
  MAX_TERMINATION_MESSAGE_BYTES,
  POD_ENV,
  POD_PATHS,
  type WorkerAnswer,
  WorkerQuestion,
} from '@coxswain/api-types';
import { safeText } from '@coxswain/safe-text';
import { realFiles } from './checkpoint-files.ts';
import { type AdoptedInspection, inspectAdopted } from './inspect-adopted.ts';
import { inspectSave, type SaveInspection } from './inspect-save.ts';

const MAX_REASON_CHARACTERS = 512;

/** Verifies a checkpoint where it is. */
export type Verify = (
  checkpoint: Omit<WorkerQuestion, 'level'>,
  options: Pick<WorkerQuestion, 'level'>,
) => Promise<SaveInspection & Partial<AdoptedInspection>>;

/** Answers the question and returns the exit code. An answer that says why nothing was read is one too. `inBucket`: undefined if the checkpoint is in a claim. */
export async function runWorker(
  question: string,
  environment: NodeJS.ProcessEnv,
  inBucket?: Verify | undefined,
): Promise<number> {
  const answer = fitAnswer(
    await answerOf(question, { node: environment[POD_ENV.nodeName], verify: inBucket ?? inClaim }),
  );
  writeFileSync(environment['COXSWAIN_TERMINATION_LOG'] ?? POD_PATHS.terminationMessage, JSON.stringify(answer));
  return 0;
}

async function answerOf(
  question: string,
  { node, verify }: { readonly node: string | undefined; readonly verify: Verify },
): Promise<WorkerAnswer> {
  try {
    const { level, ...checkpoint } = WorkerQuestion.parse(JSON.parse(question));
    const { verification, contents, files } = await verify(checkpoint, { level });
    if (verification === undefined) return { version: 1, unread: 'no reader knows the format of this checkpoint' };
    const onNode = { ...verification, ...(node === undefined ? {} : { node }) };
    return {
      version: 1,
      verification: onNode,
      ...(contents === undefined ? {} : { contents }),
      ...(files === undefined ? {} : { files }),
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { version: 1, unread: safeText(why, MAX_REASON_CHARACTERS) };
  }
}

const inClaim: Verify = async ({ directory, manifestSha256 }, { level }) => {
  const options = { level, by: 'Worker', files: realFiles, onAnswer: () => undefined } as const;
  return manifestSha256 === undefined
    ? await inspectAdopted(directory, options)
    : await inspectSave({ directory, manifestSha256 }, options);
};

/** The kubelet cuts a longer message, and then it is no JSON. Groups of tensors go first, then findings, then the contents: the verdict stays. */
export function fitAnswer(answer: WorkerAnswer): WorkerAnswer {
  const { verification, contents, ...rest } = answer;
  if (Buffer.byteLength(JSON.stringify(answer)) <= MAX_TERMINATION_MESSAGE_BYTES || verification === undefined)
    return answer;
  if (contents?.tensorGroups !== undefined) {
    const { tensorGroups: _, ...withoutGroups } = contents;
    return fitAnswer({ ...answer, contents: withoutGroups });
  }
  const { findings } = verification;
  if (findings.length > 1)
    return fitAnswer({ ...answer, verification: { ...verification, findings: findings.slice(0, -1) } });
  return { ...rest, verification };
}
