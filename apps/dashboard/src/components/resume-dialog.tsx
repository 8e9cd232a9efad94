import { type Job, SCRATCH } from '@coxswain/api-types';
import { formatLayout } from '@coxswain/layout';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { DEGREES, resumeFormOf, resumeLoss, resumeRequestOf, type ResumeDivision } from '../job/resume-request.ts';
import { useSession } from '../session.tsx';
import { ActionDialog } from './action-dialog.tsx';

interface ResumeDialogProps {
  readonly job: Pick<Job, 'id' | 'name' | 'layout' | 'gpus' | 'progress' | 'checkpoint'>;
  readonly project: string;
  readonly onResumed: (job: Job) => void;
  readonly onClose: () => void;
}

/** Resume a job on another layout, or from another checkpoint. */
export function ResumeDialog({ job, project, onResumed, onClose }: ResumeDialogProps): ReactNode {
  const { api } = useSession();
  const [form, setForm] = useState(() => resumeFormOf(job));
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const { data } = useQuery({
    queryKey: ['checkpoints of job', project, job.id, job.checkpoint?.name],
    queryFn: () => api.checkpoints({ project, id: job.id }),
  });
  const saves = data?.items.toReversed() ?? [];
  const loss = resumeLoss(form.from, saves, job);
  const divisions: readonly (readonly [ResumeDivision, string])[] = [
    ['same', `as it is${job.layout === null ? '' : ` (${formatLayout(job.layout)})`}`],
    ['gpus', 'another number of GPUs; the planner chooses the layout'],
    ['degrees', 'other degrees'],
  ];
  const resume = (): void => {
    setBusy(true);
    setProblem(undefined);
    api
      .resume({ project, id: job.id }, resumeRequestOf(form, job))
      .then(
        (resumed) => {
          onResumed(resumed);
          onClose();
        },
        (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
      )
      .finally(() => setBusy(false));
  };
  return (
    <ActionDialog title={`Resume ${job.name}`} confirm="Resume" {...{ problem, isBusy, onClose }} onConfirm={resume}>
      <label className="field">
        <span>From</span>
        <select value={form.from} onChange={(event) => setForm({ ...form, from: event.target.value })}>
          <option value="">
            its newest checkpoint{job.checkpoint === null ? '' : ` (step ${job.checkpoint.step.toLocaleString('en')})`}
          </option>
          {saves
            .filter(({ deletedAt, isBeingDeleted }) => deletedAt === null && !isBeingDeleted)
            .map(({ name, step }) => (
              <option key={name} value={name}>
                step {step.toLocaleString('en')}: {name}
              </option>
            ))}
          <option value={SCRATCH}>scratch: step 0</option>
        </select>
      </label>
      <label className="field">
        <span>Layout</span>
        <select
          value={form.division}
          onChange={(event) => setForm({ ...form, division: event.target.value as ResumeDivision })}
        >
          {divisions.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </label>
      {form.division === 'gpus' && (
        <NumberField label="GPUs" value={form.gpus} onChange={(gpus) => setForm({ ...form, gpus })} />
      )}
      {form.division === 'degrees' && (
        <div className="degrees">
          {DEGREES.map(([degree, label]) => (
            <NumberField
              key={degree}
              label={label}
              value={form.degrees[degree]}
              onChange={(value) => setForm({ ...form, degrees: { ...form.degrees, [degree]: value } })}
            />
          ))}
        </div>
      )}
      {loss !== undefined && <p className="held-ink">{loss}</p>}
    </ActionDialog>
  );
}

function NumberField(props: {
  readonly label: string;
  readonly value: number;
  readonly onChange: (value: number) => void;
}): ReactNode {
  const { label, value, onChange } = props;
  return (
    <label className="field">
      <span>{label}</span>
      <input type="number" min={1} value={value} onChange={(event) => onChange(event.target.valueAsNumber)} />
    </label>
  );
}
