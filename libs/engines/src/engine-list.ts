import {
  type Engine,
  ENGINE_NAMES,
  ENGINE_RELEASES,
  ENGINES_WITH_RECIPES,
  ENGINES_WITHOUT_PROGRAM,
  type EngineList,
  type EngineName,
  RANK_STARTERS,
} from '@coxswain/api-types';
import { ENGINE_CAPABILITIES, LAYOUT_ENGINES, type LayoutEngine } from '@coxswain/layout';

/** Every engine that is known: first those that jobs can name, then those that layouts can. */
export function engineList(): EngineList {
  const others = LAYOUT_ENGINES.filter((name) => !isEngineName(name));
  return { items: [...ENGINE_NAMES.map(engineOf), ...others.map(layoutEngineOf)] };
}

/** Whether jobs can name it. */
export function isEngineName(name: string): name is EngineName {
  return ENGINE_NAMES.some((known) => known === name);
}

function engineOf(name: EngineName): Engine {
  return {
    name,
    startsJobs: true,
    releases: [...ENGINE_RELEASES[name]],
    startedBy: name === 'reference' ? ['launcher'] : [...RANK_STARTERS],
    needsCommand: ENGINES_WITHOUT_PROGRAM.includes(name),
    takesRecipe: ENGINES_WITH_RECIPES.includes(name),
    abilities: abilitiesOf(name),
  };
}

function layoutEngineOf(name: LayoutEngine): Engine {
  return {
    name,
    startsJobs: false,
    releases: [],
    startedBy: [],
    needsCommand: false,
    takesRecipe: false,
    abilities: abilitiesOf(name),
  };
}

/** Of each list, the option of a layout that chooses from it: who does not take the option has no choice. */
const CHOSEN_BY = {
  schedules: 'pipeline.schedule',
  vocabularies: 'pipeline.vocabulary',
  contextAlgorithms: 'sequence.contextAlgorithm',
  dynamic: 'sequence.dynamic',
  zeroStages: 'states.zeroStage',
  optimizers: 'states.optimizer',
  offloads: 'memory.offload.what',
  dispatchers: 'expert.dispatcher',
  balances: 'expert.balance',
  attention: 'kernel.attention',
  precisions: 'kernel.precision',
  checkpointFormats: 'checkpointPolicy.format',
} as const;

function abilitiesOf(name: LayoutEngine): Engine['abilities'] {
  const { wayOut: _instead, ...able } = ENGINE_CAPABILITIES[name];
  const isTaken = (option: string): boolean =>
    able.options.some((taken) => option === taken || option.startsWith(`${taken}.`));
  const without = Object.entries(CHOSEN_BY).flatMap(([list, option]) => (isTaken(option) ? [] : [[list, []] as const]));
  return structuredClone({ ...able, ...Object.fromEntries(without) }) as Engine['abilities'];
}
