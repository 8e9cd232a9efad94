import { useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { layOutShards, shardAt } from '../checkpoints/shard-geometry.ts';
import { paintShards } from '../checkpoints/shard-painting.ts';
import type { TensorGroup } from '@coxswain/api-types';
import {
  describeChunk,
  formatDivision,
  formatShape,
  isRest,
  KIND_WORDS,
  TENSOR_KINDS,
} from '../checkpoints/tensor-groups.ts';
import { formatCount } from '@coxswain/units';
import { useColorScheme } from '../color-scheme.ts';
import { rankAfterKey } from '../job/rank-after-key.ts';
import { useWidth } from '../use-width.ts';

/** Which part of each tensor which chunk holds, drawn on one canvas and listed in a table. */
export function ShardMap({ groups }: { readonly groups: readonly TensorGroup[] }): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const widthPx = useWidth(canvas);
  const scheme = useColorScheme();
  const geometry = useMemo(() => layOutShards(groups, widthPx), [groups, widthPx]);
  const order = useMemo(() => geometry.cells.map((_, index) => index), [geometry]);
  const [shownIndex, setShownIndex] = useState<number>();
  const rest = groups.find(isRest);
  const shown = shownIndex === undefined ? undefined : geometry.cells[shownIndex];

  useEffect(() => {
    if (canvas.current !== null) paintShards(canvas.current, geometry, widthPx);
  }, [geometry, widthPx, scheme]);

  return (
    <>
      <p className="hint legend">
        Each box is a tensor, or one of several that are alike; its parts are the chunks that ranks saved. The last
        dimension runs to the right, the others run down. Chunks of one dimension are drawn equally long. Grey: more
        chunks than can be drawn.
      </p>
      <div className="map">
        <canvas
          ref={canvas}
          style={{ height: geometry.heightPx }}
          tabIndex={0}
          role="img"
          aria-label={`${formatCount(groups.length, 'group')} of tensors in chunks. Arrow keys go from chunk to chunk; the table below lists the groups.`}
          onMouseMove={({ currentTarget, clientX, clientY }) => {
            const box = currentTarget.getBoundingClientRect();
            const cell = shardAt(geometry, clientX - box.left, clientY - box.top);
            setShownIndex(cell === undefined ? undefined : geometry.cells.indexOf(cell));
          }}
          onMouseLeave={() => setShownIndex(undefined)}
          onBlur={() => setShownIndex(undefined)}
          onKeyDown={(event) => {
            const next = rankAfterKey(event.key, order, shownIndex);
            if (next === undefined) return;
            event.preventDefault();
            setShownIndex(next);
          }}
        />
        {shown !== undefined && (
          <span
            className="cursor"
            style={{ left: shown.x, top: shown.y, width: shown.widthPx, height: shown.heightPx }}
          />
        )}
      </div>
      <p className="rank-facts" aria-live="polite">
        {shown === undefined ? 'Point at a chunk to see what it holds.' : describeChunk(shown.group, shown.chunk)}
      </p>
      {rest !== undefined && (
        <p className="hint">{formatCount(rest.tensors, 'further tensor')} of several shapes are not drawn.</p>
      )}
      <GroupTable groups={groups} />
    </>
  );
}

function GroupTable({ groups }: { readonly groups: readonly TensorGroup[] }): ReactNode {
  return (
    <details>
      <summary>The same as a table</summary>
      <div className="scroll">
        <table>
          <thead>
            <tr>
              <th>Tensors</th>
              <th>For</th>
              <th className="number">Number</th>
              <th>Dtype</th>
              <th>Shape</th>
              <th>Saved as</th>
            </tr>
          </thead>
          <tbody>
            {groups.map((group, index) => (
              <tr key={index}>
                <td className="tensor-name">{isRest(group) ? 'all others' : group.name}</td>
                <td>{TENSOR_KINDS.includes(group.kind) ? KIND_WORDS[group.kind] : group.kind}</td>
                <td className="number">{group.tensors.toLocaleString('en')}</td>
                <td>{group.dtype}</td>
                <td className="nowrap">{isRest(group) ? 'various' : formatShape(group.shape)}</td>
                <td className="nowrap">{isRest(group) ? '–' : formatDivision(group)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
