import { API_GROUP_VERSION, type Job } from '@coxswain/api-types';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { JobEditor } from '../components/job-editor.tsx';
import { cloneRequest } from '../new-job/clone-job.ts';
import { draftText } from '../new-job/job-draft.ts';
import { STARTS, startText } from '../new-job/starts.ts';
import { submittableProjects } from '../projects-of.ts';
import { useSession } from '../session.tsx';

/** A job is written and submitted here. With `?project=…&from=JOB` it begins as that job. */
export function NewJobPage(): ReactNode {
  const [query] = useSearchParams();
  const project = query.get('project') ?? undefined;
  const from = query.get('from') ?? undefined;
  return (
    <>
      <title>New job · Coxswain</title>
      {project !== undefined && from !== undefined ? (
        <Clone key={`${project}/${from}`} project={project} id={from} />
      ) : (
        <NewJob project={project} />
      )}
    </>
  );
}

function Clone({ project, id }: { readonly project: string; readonly id: string }): ReactNode {
  const { api } = useSession();
  const { data, error } = useQuery({
    queryKey: ['job to clone', project, id],
    queryFn: () => api.job({ project, id }),
    staleTime: Infinity,
  });
  if (error !== null) return <Failure message={error.message} />;
  if (data === undefined) return <p className="waiting">Reading the job…</p>;
  return <NewJob project={project} of={data} />;
}

/** `of`: the job that it begins as. */
function NewJob({ project, of }: { readonly project: string | undefined; readonly of?: Job }): ReactNode {
  const [, go] = useLocation();
  const { projects, problem } = useProjects();
  if (problem !== undefined) return <Failure message={problem} />;
  if (projects === undefined) return <p className="waiting">Reading projects…</p>;
  const [first, ...others] = projects;
  if (first === undefined)
    return (
      <p className="empty">
        You cannot submit jobs: you need the role submitter in a project. Ask an administrator of the project.
      </p>
    );
  return (
    <JobEditor
      initialText={of === undefined ? startText(STARTS[0]) : draftText(API_GROUP_VERSION, cloneRequest(of))}
      projects={[first, ...others]}
      initialProject={projects.find((name) => name === project) ?? first}
      onSubmitted={(job, to) => go(`/projects/${to}/jobs/${job.id}`)}
    >
      {(editing) => of === undefined && <StartChoice {...editing} />}
    </JobEditor>
  );
}

/** Replaces the whole text, after a question if that loses what a person wrote. */
function StartChoice({
  text,
  setText,
}: {
  readonly text: string;
  readonly setText: (text: string) => void;
}): ReactNode {
  const [chosen, setChosen] = useState(STARTS[0]);
  return (
    <label>
      <span className="hint">Start with</span>
      <select
        value={chosen.title}
        onChange={(event) => {
          const next = STARTS[event.target.selectedIndex] ?? chosen;
          if (text !== startText(chosen) && !confirm('Replace the job that you wrote?')) return;
          setChosen(next);
          setText(startText(next));
        }}
      >
        {STARTS.map(({ title }) => (
          <option key={title}>{title}</option>
        ))}
      </select>
    </label>
  );
}

/** Projects in which the person may submit jobs; those of an administrator of the cluster are read. */
function useProjects(): { readonly projects: readonly string[] | undefined; readonly problem: string | undefined } {
  const { api, me } = useSession();
  const isAdmin = me.role === 'clusterAdmin';
  const { data, error } = useQuery({
    queryKey: ['projects'],
    queryFn: () => api.projects(),
    enabled: isAdmin,
  });
  if (isAdmin) return { projects: data?.items.map(({ name }) => name), problem: error?.message };
  return { projects: submittableProjects(me), problem: undefined };
}

function Failure({ message }: { readonly message: string }): ReactNode {
  return (
    <p className="problem" role="alert">
      {message}
    </p>
  );
}
