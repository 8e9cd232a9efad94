import type { Job, JobCheck, JobCreateInput } from '@coxswain/api-types';
import { MODEL_PRESETS } from '@coxswain/planner/presets';
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, type RefObject, useMemo, useRef, useState } from 'react';
import {
  type FieldProblem,
  inputOf,
  problemsOfCheck,
  problemsOfFailure,
  problemsOfRequest,
} from '../new-job/field-problems.ts';
import { INPUTS } from '../new-job/form-inputs.ts';
import { rangeOf, readDraft, withField } from '../new-job/job-draft.ts';
import { SubmissionKeys } from '../new-job/submission-key.ts';
import { useSession } from '../session.tsx';
import { useDebounced } from '../use-debounced.ts';
import { inputId, JobForm } from './job-form.tsx';
import { JobPreview } from './job-preview.tsx';
import { ProblemList } from './problem-list.tsx';

/** Long enough for a person to type on, short enough to seem at once. Each question counts against a limit of the project. */
const SETTLED_MS = 700;
/** An answer about free GPUs is old after that time. */
const FRESH_MS = 30_000;
const MODEL_NAMES = MODEL_PRESETS.map(({ name }) => name);
const INPUT_FIELDS = INPUTS.map(({ field }) => field);

interface JobEditorProps {
  readonly initialText: string;
  /** Projects in which the person may submit jobs. */
  readonly projects: readonly [string, ...string[]];
  readonly initialProject: string;
  readonly onSubmitted: (job: Job, project: string) => void;
  /** Choices beside the project. */
  readonly children?: (editing: { readonly text: string; readonly setText: (text: string) => void }) => ReactNode;
}

/** A job as form and as YAML, with what planner and cluster answer to it while it is written. */
export function JobEditor({ initialText, projects, initialProject, onSubmitted, children }: JobEditorProps): ReactNode {
  const { api } = useSession();
  const [text, setText] = useState(initialText);
  const [project, setProject] = useState(initialProject);
  const yaml = useRef<HTMLTextAreaElement>(null);
  const keys = useRef(new SubmissionKeys());
  // The second click of a double click comes before the button is drawn again.
  const isSent = useRef(false);
  const draft = useMemo(() => readDraft(text), [text]);
  const lastRequest = useRef(draft.request);
  if (draft.request !== undefined) lastRequest.current = draft.request;
  const ofText = useMemo(
    () => (draft.request === undefined ? draft.problems : [...draft.problems, ...problemsOfRequest(draft.request)]),
    [draft],
  );
  const body = ofText.length === 0 ? JSON.stringify(draft.request) : undefined;
  const check = useJobCheck(project, body);
  const submit = useMutation({
    mutationFn: ({ to, sent }: { readonly to: string; readonly sent: string }) =>
      api.createJob(to, JSON.parse(sent) as JobCreateInput, keys.current.keyFor(`${to} ${sent}`)),
    onSuccess: (job, { to }) => onSubmitted(job, to),
    onError: () => (isSent.current = false),
  });
  // What the API refused is shown until the job is another one.
  const refused =
    submit.error === null || submit.variables?.sent !== body ? [] : problemsOfFailure(draft.request, submit.error);
  const ofCheck =
    check.error === null
      ? check.data === undefined
        ? []
        : problemsOfCheck(check.data)
      : problemsOfFailure(draft.request, check.error);
  const problems = withoutRepetition(body === undefined ? ofText : [...refused, ...ofCheck]);
  const choose = (field: string): void => goTo(field, text, yaml);
  return (
    <div className="new-job">
      <div className="title new-job-title">
        <h1>New job</h1>
        <span className="actions">
          {children?.({ text, setText })}
          {projects.length > 1 && (
            <label>
              <span className="hint">Project</span>
              <select
                value={project}
                onChange={(event) => {
                  setProject(event.target.value);
                  // The namespace is one of the other project.
                  if (draft.request !== undefined) setText(withField(text, 'namespace', undefined));
                }}
              >
                {projects.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
          )}
          <button
            type="button"
            className="primary"
            disabled={submit.isPending || submit.isSuccess}
            onClick={() => {
              const first = ofText[0];
              if (first !== undefined) choose(first.field);
              if (body === undefined || isSent.current) return;
              isSent.current = true;
              submit.mutate({ to: project, sent: body });
            }}
          >
            {submit.isPending ? 'Submitting…' : 'Submit'}
          </button>
        </span>
      </div>
      {problems.length > 0 && (
        <section className="panel problems" aria-label="Problems" data-testid="problems">
          <h2>
            <span role="status">{sentenceOf(problems)}</span>
          </h2>
          <ProblemList problems={problems} onChoose={choose} />
        </section>
      )}
      <JobForm
        text={text}
        request={draft.request ?? lastRequest.current}
        problems={byInput(problems)}
        offers={{ ...useOffers(project), models: MODEL_NAMES }}
        isDisabled={draft.request === undefined}
        onChange={setText}
      />
      <section className="panel yaml">
        <h2>
          <label htmlFor="yaml">YAML</label> <small className="hint">coxswain and kubectl take it too</small>
        </h2>
        <textarea
          id="yaml"
          ref={yaml}
          spellCheck={false}
          autoCapitalize="off"
          wrap="off"
          value={text}
          aria-invalid={draft.request === undefined || undefined}
          onChange={(event) => setText(event.target.value)}
        />
      </section>
      <JobPreview
        request={draft.request}
        check={check.data}
        isAsking={check.isFetching}
        isStale={check.isStale}
        problem={body === undefined ? 'The preview comes once the problems above are mended.' : undefined}
      />
    </div>
  );
}

interface RunningCheck {
  readonly data: JobCheck | undefined;
  readonly error: Error | null;
  readonly isFetching: boolean;
  readonly isStale: boolean;
}

/** What the API answers to the job, once nothing was typed for a moment. */
function useJobCheck(project: string, body: string | undefined): RunningCheck {
  const { api } = useSession();
  const asked = useDebounced(body, SETTLED_MS);
  const { data, error, isFetching, isPlaceholderData } = useQuery({
    queryKey: ['job check', project, asked],
    queryFn: () => api.checkJob(project, JSON.parse(asked ?? '') as JobCreateInput),
    enabled: asked !== undefined,
    placeholderData: keepPreviousData,
    staleTime: FRESH_MS,
    retry: false,
    refetchOnWindowFocus: false,
  });
  return { data, error, isFetching, isStale: data !== undefined && (isPlaceholderData || asked !== body) };
}

/** Names that a job of the project can use; none while they are read. */
function useOffers(project: string): {
  readonly namespaces: readonly string[];
  readonly priorityClasses: readonly string[];
} {
  const { api } = useSession();
  const { data } = useQuery({
    queryKey: ['project', project],
    queryFn: () => api.project(project),
    staleTime: FRESH_MS,
  });
  return { namespaces: data?.namespaces ?? [], priorityClasses: data?.priorityClasses ?? [] };
}

function withoutRepetition(problems: readonly FieldProblem[]): readonly FieldProblem[] {
  return problems.filter(
    ({ field, rule }, index) => problems.findIndex((one) => one.field === field && one.rule === rule) === index,
  );
}

function byInput(problems: readonly FieldProblem[]): Readonly<Record<string, readonly FieldProblem[]>> {
  return Object.groupBy(problems, ({ field }) => inputOf(field, INPUT_FIELDS) ?? '') as Record<string, FieldProblem[]>;
}

function sentenceOf(problems: readonly FieldProblem[]): string {
  const count = problems.filter(({ effect }) => effect === 'NeedsChange').length;
  if (count === 0) return 'The job can be submitted, but:';
  return count === 1 ? '1 problem' : `${count} problems`;
}

/** To the input of the field, or to its place in the YAML. */
function goTo(field: string, text: string, yaml: RefObject<HTMLTextAreaElement | null>): void {
  const input = inputOf(field, INPUT_FIELDS);
  const element = input === undefined ? null : document.getElementById(inputId(input));
  if (element !== null && !element.matches(':disabled')) {
    element.focus();
    return;
  }
  const area = yaml.current;
  if (area === null) return;
  area.focus();
  const [start, end] = rangeOf(text, field) ?? [0, 0];
  area.setSelectionRange(start, end);
  // A textarea does not scroll to its selection by itself.
  const line = text.slice(0, start).split('\n').length - 1;
  area.scrollTop = Math.max(0, (line - 2) * Number.parseFloat(getComputedStyle(area).lineHeight));
}
