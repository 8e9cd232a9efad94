/** The inputs of the form. Every other field of a job is edited in the YAML. */
import { ENGINE_NAMES } from '@coxswain/api-types';

/** How an input writes its field: as it is typed, as a number, or as the words of a command. `gpus` and `location` write one of several fields. */
export type InputKind = 'text' | 'number' | 'words' | 'choice' | 'gpus' | 'location';

export interface FormInput {
  readonly field: string;
  readonly label: string;
  readonly kind: InputKind;
  readonly hint?: string;
  readonly placeholder?: string;
  /** Twice as wide as others. */
  readonly isWide?: boolean;
  /** Of a choice; an empty value leaves the field out. */
  readonly choices?: readonly (readonly [value: string, words: string])[];
  /** What the page knows of it, and suggests or offers. */
  readonly offers?: 'namespaces' | 'priorityClasses' | 'models';
  /** Shown if checkpoints are kept in one of these. */
  readonly locations?: readonly Location[];
}

export interface FormSection {
  readonly title: string;
  readonly inputs: readonly FormInput[];
}

/** Where checkpoints are kept. */
export type Location = 'none' | 'claim' | 'bucket';

const SAVED: readonly Location[] = ['claim', 'bucket'];

export const FORM: readonly FormSection[] = [
  {
    title: 'Job',
    inputs: [
      { field: 'name', label: 'Name', kind: 'text', placeholder: 'llama-8b' },
      { field: 'namespace', label: 'Namespace', kind: 'choice', offers: 'namespaces' },
    ],
  },
  {
    title: 'Program',
    inputs: [
      { field: 'spec.engine.name', label: 'Engine', kind: 'choice', choices: ENGINE_NAMES.map((name) => [name, name]) },
      { field: 'spec.engine.image', label: 'Image', kind: 'text', isWide: true, placeholder: 'ghcr.io/me/train:1' },
      {
        field: 'spec.engine.command',
        label: 'Command of one rank',
        kind: 'words',
        placeholder: 'python3 train.py --lr 1e-4',
        hint: 'Coxswain starts it once per GPU, without torchrun and without a shell.',
      },
      {
        field: 'spec.runtimeRef.name',
        label: 'Runtime',
        kind: 'text',
        isWide: true,
        hint: 'Adds devices, networks and node selection to pods. Empty: none.',
      },
    ],
  },
  {
    title: 'Model and training',
    inputs: [
      { field: 'spec.model.preset', label: 'Model', kind: 'text', offers: 'models', placeholder: 'llama-3.1-8b' },
      { field: 'spec.model.sequenceLength', label: 'Tokens per sample', kind: 'number' },
      { field: 'spec.training.steps', label: 'Steps', kind: 'number' },
      { field: 'spec.training.globalBatchSize', label: 'Samples per step', kind: 'number', hint: 'Over all GPUs.' },
    ],
  },
  {
    title: 'GPUs',
    inputs: [
      { field: 'spec.gpus', label: 'GPUs', kind: 'gpus' },
      {
        field: 'spec.minGpus',
        label: 'Fewest GPUs',
        kind: 'number',
        hint: 'The job continues on fewer GPUs if nodes are lost. Empty: it waits.',
      },
      { field: 'spec.priorityClassName', label: 'Priority class', kind: 'choice', offers: 'priorityClasses' },
      {
        field: 'spec.maxRuntimeSeconds',
        label: 'Longest run (seconds)',
        kind: 'number',
        hint: 'Helps waiting jobs to be planned.',
      },
    ],
  },
  {
    title: 'Data and checkpoints',
    inputs: [
      { field: 'spec.data.claimName', label: 'Claim of the data', kind: 'text' },
      { field: 'spec.data.path', label: 'Path in the claim', kind: 'text' },
      { field: 'spec.checkpoint', label: 'Checkpoints are kept', kind: 'location' },
      { field: 'spec.checkpoint.claimName', label: 'Claim', kind: 'text', locations: ['claim'] },
      {
        field: 'spec.checkpoint.bucket.uri',
        label: 'Bucket',
        kind: 'text',
        isWide: true,
        locations: ['bucket'],
        placeholder: 's3://training/runs',
      },
      {
        field: 'spec.checkpoint.bucket.credentialsSecret',
        label: 'Secret with credentials',
        kind: 'text',
        locations: ['bucket'],
        placeholder: 'job-bucket',
      },
      {
        field: 'spec.checkpoint.path',
        label: 'Directory',
        kind: 'text',
        locations: SAVED,
        hint: 'Each attempt saves into its own directory below it.',
      },
      {
        field: 'spec.checkpoint.everySteps',
        label: 'Save every (steps)',
        kind: 'number',
        locations: SAVED,
        placeholder: '100',
      },
      {
        field: 'spec.checkpoint.interval',
        label: 'Interval',
        kind: 'choice',
        locations: SAVED,
        choices: [
          ['', 'as many steps as given'],
          ['Auto', 'from measured saves and failures'],
        ],
      },
    ],
  },
];

/** Every input with its field. */
export const INPUTS: readonly FormInput[] = FORM.flatMap(({ inputs }) => inputs);

/** The value that a field gets from what was typed; undefined leaves it out. What is no number stays a text, and the rule of the field names it. */
export function fieldValue(kind: InputKind, typed: string): unknown {
  const text = typed.trim();
  if (text === '') return undefined;
  return kind === 'number' && /^-?\d+(\.\d+)?$/.test(text.replaceAll(/[,_\s]/g, ''))
    ? Number(text.replaceAll(/[,_\s]/g, ''))
    : text;
}
