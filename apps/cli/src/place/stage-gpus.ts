/** For which GPUs are the stages of a layout, and what are those called on the nodes that are there? */
import { type FabricNode, type StageGpus, stageGpusProblem } from '@coxswain/fabric';
import { stagesOnNodes } from '@coxswain/job-planning';
import type { ParallelLayout } from '@coxswain/layout';
import type { Plan } from '@coxswain/planner';
import { InvalidArgumentError } from 'commander';
import { CliError } from '../cli-error.ts';
import { wholeNumber } from '../options/whole-number.ts';

type AskedStageGpus = NonNullable<Plan['stageGpus']>;

/** `5=h100,3=a100`: the first five stages on the one, three on the other. */
export function stageGpus(text: string): AskedStageGpus {
  return text.split(',').map((part) => {
    const at = part.indexOf('=');
    const gpu = part.slice(at + 1).trim();
    if (at < 0 || gpu === '') throw new InvalidArgumentError(`"${part}" is not <stages>=<gpu>, such as 5=h100.`);
    return { stages: wholeNumber(part.slice(0, at).trim()), gpu };
  });
}

/** Undefined where all GPUs are of one type. */
export function stagesToPlace(
  asked: AskedStageGpus | undefined,
  layout: ParallelLayout,
  nodes: readonly FabricNode[],
): readonly StageGpus[] | undefined {
  if (asked === undefined) return undefined;
  const problem = stageGpusProblem(layout, asked);
  if (problem !== undefined) throw new CliError(problem);
  const named = stagesOnNodes(asked, nodes);
  if ('problem' in named) throw new CliError(named.problem);
  return named.stageGpus;
}
