import type { ClusterFabric, FabricJob } from '@coxswain/api-types';
import { namedSwitch, ownNameOf } from '@coxswain/fabric';
import { formatCount } from '@coxswain/units';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { FabricHistory } from '../components/fabric-history.tsx';
import { FabricMap } from '../components/fabric-map.tsx';
import { FabricTable } from '../components/fabric-table.tsx';
import { distinctColor } from '../distinct-color.ts';
import { countGpus, type FabricPageNode, type GpuCounts, nodesOf, treeOf } from '../fabric/fabric-tree.ts';
import { useSession } from '../session.tsx';

const REFRESH_MS = 10_000;

/** Every node with GPUs, where it sits in the network, and which job holds it; for administrators of the cluster. */
export function FabricPage(): ReactNode {
  const { api } = useSession();
  const { data, error, isPending } = useQuery({
    queryKey: ['fabric'],
    refetchInterval: REFRESH_MS,
    queryFn: () => api.fabric(),
  });
  return (
    <>
      <title>Fabric · Coxswain</title>
      {error !== null && (
        <p className="problem" role="alert">
          {error.message}
        </p>
      )}
      {isPending && <p className="waiting">Reading the fabric…</p>}
      {data !== undefined && <Fabric fabric={data} />}
    </>
  );
}

function Fabric({ fabric }: { readonly fabric: ClusterFabric }): ReactNode {
  const nodes = useMemo(() => nodesOf(fabric), [fabric]);
  const islands = useMemo(() => treeOf(nodes), [nodes]);
  const [island, setIsland] = useState('');
  const [shownName, setShownName] = useState<string>();
  const [chosenName, setChosenName] = useState<string>();
  const [shownJob, setShownJob] = useState<string>();
  const inIsland = useMemo(
    () => (islands.some((one) => one.island === island) ? islands.filter((one) => one.island === island) : islands),
    [islands, island],
  );
  const members = useMemo(() => inIsland.flatMap(({ leaves }) => leaves.flatMap((leaf) => leaf.nodes)), [inIsland]);
  const shown = members.find(({ name }) => name === shownName);
  const chosen = members.find(({ name }) => name === chosenName);
  const isUnknown = fabric.nodes.heldByOthers === undefined || fabric.nodes.heldByOthers === null;
  const jobIndex = fabric.jobs.findIndex(({ id }) => id === shownJob);
  return (
    <>
      <div className="title">
        <h1>Fabric</h1>
        {islands.length > 1 && (
          <label className="actions">
            <span className="hint">Island</span>
            <select value={island} onChange={(event) => setIsland(event.target.value)}>
              <option value="">all {islands.length}</option>
              {islands.map((one) => (
                <option key={one.island} value={one.island}>
                  {one.island}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <p className="sentence">{countsSentence(countGpus(members))}</p>
      {fabric.isStale && (
        <p className="problem" role="alert">
          No news of the cluster for a minute; nodes are shown as last observed.
        </p>
      )}
      <section className="panel">
        <p className="hint legend">
          A cell is a node, a frame what is below one leaf switch; NVLink domains of several nodes begin a row.
          <span className="chip free" aria-hidden="true" /> free <span className="chip unusable" aria-hidden="true" />
          takes no jobs <span className="chip others" aria-hidden="true" /> held by pods of others; other colors are
          jobs.
          {isUnknown &&
            ' The API cannot list the pods of this cluster, so GPUs that pods of others hold seem free here.'}
        </p>
        <FabricMap
          islands={inIsland}
          shownJob={jobIndex < 0 ? undefined : jobIndex}
          shown={shown}
          onShow={(node) => setShownName(node?.name)}
          onChoose={(node) => setChosenName(node?.name)}
        />
        <p className="rank-facts" aria-live="polite">
          {shown === undefined ? 'Point at a node or choose one to see its details.' : nodeSentence(shown, fabric)}
        </p>
      </section>
      {chosen !== undefined && <NodePanel node={chosen} fabric={fabric} />}
      <div className="fabric-columns">
        <section className="panel">
          <h2>Jobs that hold GPUs</h2>
          <Jobs fabric={fabric} shownJob={shownJob} onShow={setShownJob} />
        </section>
        <section className="panel">
          <h2>By leaf</h2>
          <FabricTable islands={inIsland} onChoose={setChosenName} />
        </section>
      </div>
      <FabricHistory />
    </>
  );
}

function countsSentence({ nodes, free, taken, others, unusable }: GpuCounts): string {
  const parts = [`${formatCount(taken, 'GPU')} held by jobs`, `${counted(free)} free`];
  if (others > 0) parts.splice(1, 0, `${counted(others)} held by pods of others`);
  if (unusable > 0) parts.push(`${counted(unusable)} on nodes that take no jobs`);
  return `${formatCount(nodes, 'node')}: ${parts.join(', ')}.`;
}

function nodeSentence(node: FabricPageNode, { jobs }: ClusterFabric): string {
  const { island, nvlinkDomain } = node.place;
  const domain = nvlinkDomain === null ? [] : [`NVLink domain ${ownNameOf(nvlinkDomain)}`];
  const where = [island, ...switchNames(node).toReversed(), ...domain].join(' › ');
  const held = node.holds.map(({ job, gpus }) => `${gpus} held by ${jobs[job]?.name ?? 'a job'}`);
  if ((node.othersGpus ?? 0) > 0) held.push(`${node.othersGpus ?? 0} held by pods of others`);
  const state = node.isUsable ? '' : ', takes no jobs';
  return `${node.name}: ${[formatCount(node.gpus, 'GPU'), ...held].join(', ')}${state} · ${where}`;
}

/** Nearest first, without switches that have no name. */
function switchNames({ place: { switches } }: FabricPageNode): readonly string[] {
  return switches.flatMap((_name, tier) => namedSwitch(switches, tier) ?? []).map(ownNameOf);
}

const FACT_WORDS: Readonly<Record<string, string>> = {
  nvlinkDomain: 'NVLink domain',
  island: 'Island',
  switches: 'Switches',
  nicType: 'NICs',
  nicSpeedGbps: 'Speed of a NIC',
  nicCount: 'Number of NICs',
  gpuType: 'GPU',
};

/** The facts of a node, and their sources. */
function NodePanel({ node, fabric }: { readonly node: FabricPageNode; readonly fabric: ClusterFabric }): ReactNode {
  const { readFrom } = node.hardware;
  return (
    <section className="panel scroll" data-testid="node">
      <h2>{node.name}</h2>
      <p>{nodeSentence(node, fabric)}</p>
      <table>
        <thead>
          <tr>
            <th>Fact</th>
            <th>Value</th>
            <th>Said by</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(FACT_WORDS).map(([fact, word]) => (
            <tr key={fact}>
              <td>{word}</td>
              <td>{valueOf(node, fact)}</td>
              <td>
                <code>{readFrom.find((source) => source.fact === fact)?.key ?? 'unknown'}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function valueOf(node: FabricPageNode, fact: string): string {
  const { place, hardware } = node;
  const values: Readonly<Record<string, string | null>> = {
    nvlinkDomain: place.nvlinkDomain ?? 'of its own',
    island: place.island,
    switches: switchNames(node).join(', ') || null,
    nicType: hardware.nicType,
    nicSpeedGbps: hardware.nicSpeedGbps === null ? null : `${hardware.nicSpeedGbps} Gbit/s`,
    nicCount: hardware.nicCount === null ? null : String(hardware.nicCount),
    gpuType: hardware.gpuType,
  };
  return values[fact] ?? '–';
}

interface JobsProps {
  readonly fabric: ClusterFabric;
  readonly shownJob: string | undefined;
  readonly onShow: (id: string | undefined) => void;
}

function Jobs({ fabric, shownJob, onShow }: JobsProps): ReactNode {
  const held = ({ gpus }: FabricJob): number => gpus.reduce((sum, one) => sum + one, 0);
  const jobs = fabric.jobs
    .map((job, index) => ({ job, index, gpus: held(job) }))
    .sort((one, other) => other.gpus - one.gpus);
  if (jobs.length === 0) return <p className="empty">No job holds GPUs.</p>;
  return (
    <div className="tall" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th>Job</th>
            <th className="number">GPUs</th>
            <th className="number">Nodes</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {jobs.map(({ job, index, gpus }) => (
            <tr key={job.id}>
              <td className="name">
                <span className="chip" style={{ background: distinctColor(index) }} aria-hidden="true" />
                <Link href={`/projects/${job.project ?? '-'}/jobs/${job.id}`}>{job.name}</Link>
                <small>{job.project ?? 'no project'}</small>
              </td>
              <td className="number">{counted(gpus)}</td>
              <td className="number">{counted(new Set(job.nodes).size)}</td>
              <td>
                <button
                  type="button"
                  className="link"
                  aria-pressed={shownJob === job.id}
                  onClick={() => onShow(shownJob === job.id ? undefined : job.id)}
                >
                  {shownJob === job.id ? 'show all' : 'show'}
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {fabric.hasMoreJobs && <p className="hint">Older jobs may hold GPUs too; the map shows those GPUs as free.</p>}
    </div>
  );
}

function counted(count: number): string {
  return count.toLocaleString('en');
}
