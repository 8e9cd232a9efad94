import { argvLines, type EngineRendering, referencesIn, replaceReferences } from '@coxswain/api-types';

type Program = NonNullable<EngineRendering['program']>;

/** A shell script that runs the program as a launcher does, for one rank (or one pod of torchrun), and that a person can read. */
export function runScript(engine: string, program: Program): string {
  const { release, startedBy, argv, resumeArgs, env, files, notes } = program;
  const whose = startedBy === 'launcher' ? 'one rank' : `one pod, whose ranks ${startedBy} starts`;
  return [
    '#!/usr/bin/env bash',
    `# ${engine}${release === null ? '' : ` ${release}`}: what is run for ${whose}.`,
    ...notes.map((note) => `# ${note.replaceAll('\n', ' ')}`),
    'set -euo pipefail',
    'here="$(cd "$(dirname "$0")" && pwd)"',
    ...variablesOf(program),
    ...env.map(({ name, value }) => `export ${name}=${quoted(value)}`),
    ...(files.length === 0 ? [] : EXPAND),
    ...files.map(({ path }) => `expand ${quoted(path)}`),
    ...(files.length === 0 ? [] : ['export PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}$COXSWAIN_ENGINE_FILES"']),
    'resume=()',
    ...(resumeArgs.length === 0
      ? []
      : ['if [ -n "${COXSWAIN_RESUME_FROM:-}" ]; then', `  resume=(${resumeArgs.map(word).join(' ')})`, 'fi']),
    [...argvLines(argv, word), '"${resume[@]}" "$@"'].join(' \\\n  ').replace(/^/, 'exec '),
    '',
  ].join('\n');
}

const EXPAND = [
  'export COXSWAIN_ENGINE_FILES="${COXSWAIN_ENGINE_FILES:-$(mktemp -d)}"',
  '# In files $(NAME) is a variable of the rank, and two dollar signs are one.',
  'expand() {',
  '  mkdir -p "$(dirname "$COXSWAIN_ENGINE_FILES/$1")"',
  '  python3 -c \'import os,re,sys; sys.stdout.write(re.sub(r"\\$(?:\\$|\\((\\w+)\\))", lambda m: os.environ.get(m[1], m[0]) if m[1] else "$", sys.stdin.read()))\' \\',
  '    <"$here/$1" >"$COXSWAIN_ENGINE_FILES/$1"',
  '}',
];

/** Set by this script, or only where ranks begin from a checkpoint. */
const OPTIONAL = /^COXSWAIN_(ENGINE_FILES|RESUME_)/;

/** Variables that a launcher would set for the rank must be set. */
function variablesOf({ argv, files }: Program): readonly string[] {
  const texts = [...argv, ...files.map(({ text }) => text)];
  const names = new Set(texts.flatMap(referencesIn));
  const needed = [...names].filter((name) => !OPTIONAL.test(name)).sort();
  if (needed.length === 0) return [];
  return [
    '# Of each rank; set by the program that starts it.',
    ...needed.map((name) => `export ${name}="\${${name}:?}"`),
  ];
}

/** One argument, with variables of the shell in place of those of the rank. */
function word(text: string): string {
  if (!text.includes('$')) return quoted(text);
  const inside = text.replaceAll(/[\\"`]/g, '\\$&');
  return `"${replaceReferences(inside, (name) => `\${${name}}`, '\\$')}"`;
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
