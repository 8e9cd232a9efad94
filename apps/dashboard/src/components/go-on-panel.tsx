import type { CheckpointRecord, Job } from '@coxswain/api-types';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { describeLoads, goOnFrom, resumeFromYaml, type Resumable } from '../checkpoints/go-on.ts';
import { shownVerdict } from '../checkpoints/format-verdict.ts';
import { useSession } from '../session.tsx';

interface GoOnPanelProps {
  readonly project: string;
  readonly checkpoint: Resumable;
  readonly job: Job;
}

/** Resume the job from this checkpoint: at the push of a button where the job is suspended, else the commands that lead there. */
export function GoOnPanel({ project, checkpoint, job }: GoOnPanelProps): ReactNode {
  const { api, me } = useSession();
  const client = useQueryClient();
  const { data, error, isPending, mutate } = useMutation({
    mutationFn: () => api.resume({ project, id: job.id }, { from: checkpoint.name }),
    onSuccess: (resumed) => client.setQueryData(['job of checkpoint', project, job.id], resumed),
  });
  const { canAct, why, commands } = goOnFrom(checkpoint, job, me.role);
  const loads = describeLoads(checkpoint);
  const step = checkpoint.step.toLocaleString('en');
  return (
    <section className="panel" id="go-on">
      <h2>Go on from here</h2>
      <p className="hint">
        Job {job.name} continues after step {step}, on the layout that it has. Later checkpoints of the job are no
        longer used.
      </p>
      <Doubt checkpoint={checkpoint} />
      {loads !== undefined && <p className="hint">{loads}</p>}
      <button
        type="button"
        disabled={!canAct || isPending}
        onClick={() => {
          if (confirm(`Resume ${job.name} from step ${step}? Its later checkpoints are no longer used.`)) mutate();
        }}
      >
        Go on from step {step}
      </button>
      {why !== '' && data === undefined && <p className="hint">{why}</p>}
      {data !== undefined && <p role="status">{data.summary}</p>}
      {error !== null && (
        <p className="problem" role="alert">
          {error.message}
        </p>
      )}
      {commands.length > 0 && (
        <details>
          <summary>With the command line, or with kubectl</summary>
          <pre tabIndex={0} className="rendered">
            {commands.join('\n')}
          </pre>
          <p className="hint">
            In the TrainingJob {job.name} of namespace {job.namespace}:
          </p>
          <pre tabIndex={0} className="rendered">
            {resumeFromYaml(checkpoint, job)}
          </pre>
        </details>
      )}
    </section>
  );
}

/** A warning where this checkpoint is not known to be good. */
function Doubt({ checkpoint }: { readonly checkpoint: CheckpointRecord }): ReactNode {
  const { tone, words, meaning } = shownVerdict(checkpoint);
  if (tone === 'good') return null;
  return (
    <p className={tone === 'bad' ? 'problem' : 'held-ink'}>
      It is {words}. {meaning}
    </p>
  );
}
