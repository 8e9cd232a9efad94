/** Directories of nodes that a program names. A pod has those of its image and its claims alone. */
import type { ReportLine } from './import-report.ts';

/** What to do about directories that nodes mounted. */
export const CLAIMS_INSTEAD =
  'put what is read into a PersistentVolumeClaim and name it in data: {claimName: CLAIM, path: ""} (/coxswain/data); name one for saves in checkpoint: {claimName: CLAIM} (/coxswain/checkpoints); correct the paths in engine.command';

const OF_AN_IMAGE =
  /^\/(?:app|bin|boot|code|conda|coxswain|dev|etc|lib\w*|opt|proc|root|run|sbin|srv|sys|tmp|usr|var|workspace\w*)(?:\/|$)/;
const MOST = 4;

/** A line about directories in the words and variables of a program that no line about mounts names yet. */
export function nodePathLines(
  words: readonly string[],
  env: readonly { readonly name: string; readonly value: string }[],
  notes: readonly { readonly from: string }[],
): readonly ReportLine[] {
  if (notes.some(({ from }) => /^--(?:bind|container-mounts)\b/.test(from))) return [];
  const texts = [...words, ...env.map(({ value }) => value)].flatMap((text) => text.split(/[\s=,:"']+/));
  const directories = new Set(
    texts.flatMap((text) => {
      // A variable of the old system may stand in it: /scratch/$USER.
      const [directory] = /^\/[\w.-]+\/[\w.${}-]+/.exec(text) ?? [];
      return directory === undefined || OF_AN_IMAGE.test(text) ? [] : [directory];
    }),
  );
  if (directories.size === 0) return [];
  const shown = [...directories].slice(0, MOST).join(', ');
  return [
    {
      outcome: 'left',
      from: directories.size > MOST ? `${shown} and ${directories.size - MOST} more` : shown,
      why: 'pods do not mount directories of nodes, and what a program saves outside of a claim is lost with its pod',
      todo: CLAIMS_INSTEAD,
    },
  ];
}
