import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { projectsOf } from '../projects-of.ts';
import { useSession } from '../session.tsx';

const REFRESH_MS = 10_000;

/** A page about one project, with a choice of the project for a person who is in several. It is read again every ten seconds. */
export function ProjectReport<Data>(props: {
  readonly title: string;
  /** What the page is about, whatever was read. */
  readonly introduction?: ReactNode;
  /** Key of what is read in the cache of answers. */
  readonly what: string;
  readonly read: (api: ReturnType<typeof useSession>['api'], project: string) => Promise<Data>;
  readonly whileReading: string;
  readonly children: (data: Data) => ReactNode;
}): ReactNode {
  const { title, introduction, what, read, whileReading, children } = props;
  const { api, me } = useSession();
  const projects = projectsOf(me);
  const [project = '-', setProject] = useState(projects[0]);
  const { data, error, isPending } = useQuery({
    queryKey: [what, project],
    refetchInterval: REFRESH_MS,
    queryFn: () => read(api, project),
  });
  return (
    <>
      <title>{`${title} · Coxswain`}</title>
      <div className="title">
        <h1>{title}</h1>
        {projects.length > 1 && (
          <label className="actions">
            <span className="hint">Project</span>
            <select value={project} onChange={(event) => setProject(event.target.value)}>
              {projects.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      {introduction}
      {error !== null && (
        <p className="problem" role="alert">
          {error.message}
        </p>
      )}
      {isPending && <p className="waiting">{whileReading}</p>}
      {data !== undefined && children(data)}
    </>
  );
}
