import { DatabaseError } from '@coxswain/persistence';
import { type AdminContext, runAdminCommand } from './admin-command.ts';

async function run(argv: string, connect: AdminContext['connect'] = () => Promise.reject(new Error('connected'))) {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runAdminCommand(argv.split(' ').filter(Boolean), {
    connect,
    lifetimeDays: () => 90,
    now: () => new Date('2026-01-01T00:00:00Z'),
    print: (line) => void out.push(line),
    printError: (line) => void err.push(line),
  });
  return { code, out: out.join('\n'), err: err.join('\n') };
}

describe('a command line about administrators', () => {
  it('that asks for help is told how to go about it, without the database', async () => {
    expect(await run('--help')).toMatchObject({ code: 0, out: expect.stringMatching(/^Usage:[\s\S]*recover NAME/) });
  });

  it.each([
    ['nothing', '', /^Give a command and its NAME/],
    ['a command that there is not', 'remove ada', /^There is no command "remove"/],
    ['no name', 'create', /^Give a command and its NAME/],
    ['two names', 'create ada bob', /^"bob" is too much/],
    ['a name that a terminal would obey', 'create \u001b]0;x', /^NAME takes up to 100/],
    ['days that are no number', 'create ada --days soon', /^--days "soon" is not a whole number/],
    ['no days', 'create ada --days 0', /good for no time/],
    ['days and never', 'create ada --days 3 --never-expires', /^Give one of --days/],
    ['days and hours', 'recover ada --days 3 --hours 2', /^Give one of --days/],
    ['an overlap that is no number', 'recover ada --overlap-hours -1', /overlap-hours/],
    ['an option that there is not', 'revoke ada --force', /^Unknown option '--force'/],
  ])('with %s is refused before anything is asked of the database', async (_sentence, argv, want) => {
    const { code, out, err } = await run(argv);
    expect(err).toMatch(want);
    expect(err).toContain('Usage:');
    expect([code, out]).toEqual([1, '']);
  });

  it('says that the database does not answer', async () => {
    const away = new DatabaseError({ code: 'ECONNREFUSED', message: 'connect ECONNREFUSED 127.0.0.1:5432' });
    const { code, err } = await run('list', () => Promise.reject(away));
    expect([code, err]).toEqual([2, 'The database does not answer: connect ECONNREFUSED 127.0.0.1:5432']);
  });

  it('does not hide a mistake of ours', async () => {
    await expect(run('list')).rejects.toThrow('connected');
  });
});
