import { userNamed } from './server-user.ts';

const PASSWD = 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin\n';

describe('the user that PostgreSQL runs as', () => {
  it('is looked up by name', () => {
    expect(userNamed('nobody', PASSWD)).toEqual({ name: 'nobody', uid: 65534, gid: 65533 });
  });

  it('has to exist', () => {
    expect(() => userNamed('postgres', PASSWD)).toThrow('there is no user "postgres" to run it as');
  });
});
