import { argvLines, type JobRendering } from '@coxswain/api-types';
import { useState, type ReactNode } from 'react';

type Program = NonNullable<JobRendering['program']>;

/** What the engine of the job runs, file by file; or why it cannot run. */
export function Rendering({ rendering }: { readonly rendering: JobRendering }): ReactNode {
  const { engine, program, refusal, epoch } = rendering;
  if (program === null) {
    return (
      <p className="hint" data-testid="rendering-refusal">
        {refusal?.why}. <strong>Instead:</strong> {refusal?.fallback}.{' '}
        <small>
          {refusal?.field}, {refusal?.rule}
        </small>
      </p>
    );
  }
  const { release, startedBy } = program;
  const whose = startedBy === 'launcher' ? 'each rank by the launcher' : `the ranks of each pod by ${startedBy}`;
  return (
    <>
      <p>
        {release === null ? engine : `${engine} ${release}`}, {whose}
        <small>{epoch === null ? ' as it would start' : ` in attempt ${epoch}`}</small>
      </p>
      <Texts texts={textsOf(program)} />
      {program.notes.length > 0 && (
        <ul className="notes">
          {program.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
    </>
  );
}

interface NamedText {
  readonly name: string;
  readonly text: string;
}

/** Tabs that show one of several texts by name. */
function Texts({ texts }: { readonly texts: readonly NamedText[] }): ReactNode {
  const [chosen, setChosen] = useState<string>();
  const shown = texts.find(({ name }) => name === chosen) ?? texts[0];
  return (
    <>
      <div className="tabs" role="tablist" aria-label="What is run">
        {texts.map(({ name }) => (
          <button
            key={name}
            type="button"
            role="tab"
            aria-selected={name === shown?.name}
            onClick={() => setChosen(name)}
          >
            {name}
          </button>
        ))}
      </div>
      <pre className="rendered" role="tabpanel" aria-label={shown?.name} tabIndex={0}>
        {shown?.text}
      </pre>
    </>
  );
}

/** The texts to show, without empty ones. */
function textsOf({ argv, resumeArgs, env, files, hostMemoryGibPerGpu, ports }: Program): readonly NamedText[] {
  const needs = [
    ...(hostMemoryGibPerGpu === null ? [] : [`${hostMemoryGibPerGpu} GiB of host memory per GPU`]),
    ...ports.map(({ name, port }) => `port ${port} (${name})`),
  ];
  const texts: readonly (readonly [string, readonly string[]])[] = [
    ['command', argvLines(argv)],
    ['from a checkpoint', argvLines(resumeArgs)],
    ['environment', env.map(({ name, value }) => `${name}=${value}`)],
    ['needs', needs],
    ...files.map(({ path, text }) => [path, [text.trimEnd()]] as const),
  ];
  return texts.flatMap(([name, lines]) => (lines.length === 0 ? [] : [{ name, text: lines.join('\n') }]));
}
