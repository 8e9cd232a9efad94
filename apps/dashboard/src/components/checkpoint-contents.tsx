import type { CheckpointContents } from '@coxswain/api-types';
import { formatBytes, formatCount } from '@coxswain/units';
import type { ReactNode } from 'react';
import { describeHolds, heldStates } from '../checkpoints/format-contents.ts';
import { KIND_WORDS, TENSOR_KINDS } from '../checkpoints/tensor-groups.ts';
import { FactList } from './fact-list.tsx';

/** What the files of a checkpoint hold, and how they were saved. */
export function Contents({ contents }: { readonly contents: CheckpointContents }): ReactNode {
  return (
    <>
      <FactList className="facts" facts={factsOf(contents)} />
      <KindTable contents={contents} />
    </>
  );
}

function factsOf(contents: CheckpointContents): readonly (readonly [string, ReactNode])[] {
  const { step, engineRelease, optimizerSharding, worldSize, degrees = {}, geometry } = contents;
  const layout = Object.entries(degrees).map(([name, degree]) => `${spaced(name)} ${degree}`);
  const facts: readonly (readonly [string, ReactNode] | undefined)[] = [
    ['Use', <Use key="use" contents={contents} />],
    ['Tensors', `${contents.tensors.toLocaleString('en')} in ${formatCount(contents.chunks, 'chunk')}`],
    ['Dtypes', dtypesOf(contents)],
    ['Other objects', contents.objects.toLocaleString('en')],
    step === undefined ? undefined : ['Step in its files', step.toLocaleString('en')],
    engineRelease === undefined ? undefined : ['Saved by', engineRelease],
    worldSize === undefined ? undefined : ['Saved by ranks', worldSize.toLocaleString('en')],
    layout.length === 0 ? undefined : ['Degrees', layout.map((text) => <div key={text}>{text}</div>)],
    optimizerSharding === undefined ? undefined : ['Optimizer is', optimizerSharding],
    [
      'Geometry',
      <code
        key="geometry"
        title="SHA-256 of names, dtypes, shapes and boxes. Checkpoints with the same one are divided alike."
      >
        {geometry.slice(0, 12)}
      </code>,
    ],
  ];
  return facts.filter((fact) => fact !== undefined);
}

function Use({ contents }: { readonly contents: CheckpointContents }): ReactNode {
  return (
    <>
      {describeHolds({ contents })}
      {heldStates(contents).map(([words, names]) => (
        <small key={words}>
          {words}: {names}
        </small>
      ))}
    </>
  );
}

function KindTable({ contents: { kinds } }: { readonly contents: CheckpointContents }): ReactNode {
  const present = TENSOR_KINDS.flatMap((kind) => {
    const totals = kinds[kind];
    return totals === undefined ? [] : [{ kind, ...totals }];
  });
  if (present.length === 0) return null;
  return (
    <table className="kinds">
      <thead>
        <tr>
          <th>Tensors by what they are for</th>
          <th className="number">Number</th>
          <th className="number">Size</th>
        </tr>
      </thead>
      <tbody>
        {present.map(({ kind, tensors, bytes }) => (
          <tr key={kind}>
            <td>{KIND_WORDS[kind]}</td>
            <td className="number">{tensors.toLocaleString('en')}</td>
            <td className="number nowrap">{formatBytes(bytes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function dtypesOf({ dtypes }: CheckpointContents): string {
  const counted = Object.entries(dtypes).toSorted(([, one], [, other]) => other - one);
  if (counted.length === 0) return '–';
  return counted.map(([name, tensors]) => `${name} (${tensors.toLocaleString('en')})`).join(', ');
}

/** `tensorParallelDegree` → `tensor parallel` */
function spaced(name: string): string {
  return name
    .replace(/Degree$/, '')
    .replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .trim();
}
