import { Fragment, type ReactNode, useState } from 'react';
import { countGpus, freeGpusOf, type IslandTree, type LeafGroup } from '../fabric/fabric-tree.ts';

interface FabricTableProps {
  readonly islands: readonly IslandTree[];
  readonly onChoose: (node: string) => void;
}

/** Rows at first, and so many more at a time. */
const ROWS = 200;

/** The content of the map as an accessible table: a row for each leaf, its nodes behind a button. */
export function FabricTable({ islands, onChoose }: FabricTableProps): ReactNode {
  const [openKey, setOpenKey] = useState<string>();
  const [rows, setRows] = useState(ROWS);
  const leaves = islands.flatMap((island) => island.leaves);
  return (
    <div className="tall" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th>Leaf</th>
            <th className="number">Nodes</th>
            <th className="number">Free</th>
            <th className="number">Held</th>
            <th className="number">Unusable</th>
          </tr>
        </thead>
        <tbody>
          {leaves.slice(0, rows).map((leaf) => {
            const key = keyOf(leaf);
            return (
              <Fragment key={key}>
                <LeafRow
                  leaf={leaf}
                  isOpen={openKey === key}
                  onToggle={() => setOpenKey(openKey === key ? undefined : key)}
                />
                {openKey === key && (
                  <tr>
                    <td colSpan={5}>
                      <Nodes leaf={leaf} onChoose={onChoose} />
                    </td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
      {leaves.length > rows && (
        <button type="button" className="link" onClick={() => setRows(rows + ROWS)}>
          {leaves.length - rows} more
        </button>
      )}
    </div>
  );
}

function keyOf({ island, spine, leaf }: LeafGroup): string {
  return [island, spine?.id ?? '', leaf?.id ?? ''].join('\n');
}

interface LeafRowProps {
  readonly leaf: LeafGroup;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function LeafRow({ leaf, isOpen, onToggle }: LeafRowProps): ReactNode {
  const { nodes, free, taken, others, unusable } = countGpus(leaf.nodes);
  const above = leaf.spine === undefined ? leaf.island : `${leaf.island} › ${leaf.spine.name}`;
  return (
    <tr>
      <td>
        <button type="button" className="link" aria-expanded={isOpen} onClick={onToggle}>
          {leaf.leaf?.name ?? 'below no known leaf'}
        </button>
        <small>{above}</small>
      </td>
      <td className="number">{nodes}</td>
      <td className="number">{free}</td>
      <td className="number">{taken + others}</td>
      <td className="number">{unusable}</td>
    </tr>
  );
}

/** A leaf without a name can have thousands of nodes. */
function Nodes({ leaf, onChoose }: { readonly leaf: LeafGroup; readonly onChoose: (node: string) => void }): ReactNode {
  const [count, setCount] = useState(ROWS);
  return (
    <>
      {leaf.nodes.slice(0, count).map((node) => (
        <Fragment key={node.name}>
          <button type="button" className="link" onClick={() => onChoose(node.name)}>
            {node.name} ({node.isUsable ? `${freeGpusOf(node)} free` : 'unusable'})
          </button>{' '}
        </Fragment>
      ))}
      {leaf.nodes.length > count && (
        <button type="button" className="link" onClick={() => setCount(count + ROWS)}>
          {leaf.nodes.length - count} more
        </button>
      )}
    </>
  );
}
